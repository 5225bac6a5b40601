"""Do the lists prefer a category of items more than the people did? Thesis, 4.6.5, tables 4.5 and 4.6.

The bias towards a category is its share among interactions over its share among items; the bias disparity is
how far the lists depart from the training part: BD = (B_R - B_T) / B_T. See evaluation.categories.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.catalogue import Relation
from murmura.engine.run import Run
from murmura.evaluation.categories import category_bias, disparity
from murmura.studies.analyses.comparison_folder import ComparisonFolder, read_columns
from murmura.studies.analyses.frequency import Frequencies, read_items

PRINTED = "thesis_table_4_5.csv"


@dataclass(frozen=True, eq=False)
class Bias:
    """The bias of a comparison, category by category."""

    categories: tuple[str, ...]
    items: Ints  # (categories,) how many items each has
    train: Floats  # (categories,) B_T: the training part
    printed: Floats | None  # (categories,) what the thesis prints for the training part; NaN where it has none
    shown: dict[str, Floats]  # label -> (categories,) B_R: the lists

    def disparity(self, label: str) -> Floats:
        """BD of one entry: above 0 its lists push a category, below 0 they hide it."""
        return disparity(self.train, self.shown[label])

    def deviation(self) -> Floats | None:
        """How far the measured training bias is from the printed one, as a fraction of the printed one."""
        return None if self.printed is None else self.train / self.printed - 1


def bias(comparison: ComparisonFolder, found: Sequence[Frequencies]) -> Bias | None:
    """The bias of the entries whose frequencies were found; None where the items have no categories."""
    if not comparison.run.has("categories.csv"):
        return None
    items, popularity = read_items(comparison.run)
    categories = _categories(comparison.run, items)
    shown = {one.label: category_bias(one.shown, categories) for one in found}
    printed = printed_bias(comparison.data)
    return Bias(
        categories.labels,
        np.bincount(categories.label, minlength=len(categories.labels)).astype(np.int32),
        category_bias(popularity, categories),
        np.array([printed.get(name, np.nan) for name in categories.labels]) if printed else None,
        shown,
    )


def printed_bias(data: str) -> dict[str, float]:
    """B_T of a data set as table 4.5 of the thesis prints it, by category; {} where it prints none."""
    text = resources.files("murmura.studies.analyses").joinpath(PRINTED).read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["category"]: float(row["bias"]) for row in rows if row["data"] == data}


def _categories(whole: Run, items: dict[str, int]) -> Relation:
    rows = read_columns(whole, "categories.csv", item=items.__getitem__, category=str)
    labels = sorted({category for _, category in rows})
    code = {name: place for place, name in enumerate(labels)}
    pairs = np.array([(item, code[category]) for item, category in rows], np.int32).reshape(-1, 2)
    return Relation(tuple(labels), pairs[:, 0], pairs[:, 1])
