"""How often items are updated and recommended, beside how popular they are, and which categories lists prefer.

Thesis, 4.6.3: figure 4.4 (updates of the 1,000 most updated items) and 4.5 (recommendations of 250 items).
Thesis, 4.6.5, tables 4.5 and 4.6: the bias towards a category is its share among interactions over its share
among items; the bias disparity is how far the lists depart from the training part: BD = (B_R - B_T) / B_T. See
evaluation.formulas.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib import resources

import numpy as np

from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.catalogue import Relation
from murmura.core.errors import RunError
from murmura.engine.run_folder import ITEM_ROWS, LISTS, Run
from murmura.evaluation.formulas import category_bias, disparity, gini_index
from murmura.evaluation.significance import Interval, seed_interval
from murmura.lab.analyses.popularity_curves import head_share, rank_correlation
from murmura.studies.compare.folder import ComparisonFolder
from murmura.studies.configuration import named_data

PRINTED = "thesis_table_4_5.csv"
MEAN_DISPARITY = "mean |BD|"  # how far lists depart from the training part, category by category


@dataclass(frozen=True, eq=False)
class Frequencies:
    """One entry of a comparison, added up over its finished seeds; items in the order of items.csv."""

    label: str
    popularity: Longs  # (items,) rows in the training part
    sent: Longs | None  # (items,) rows that left the devices; None for a centralised method
    each_seed: tuple[Longs, ...]  # `shown`, seed by seed

    @cached_property
    def shown(self) -> Longs:
        """(items,) places in the lists, as far as the main cut-off."""
        total: Longs = np.sum(self.each_seed, axis=0)
        return total

    def summary(self) -> dict[str, float]:
        """What the curves say in numbers; see `concentration` and `rank_correlation`."""
        found = {}
        known = int((self.popularity > 0).sum())
        for name, times in (("updates", self.sent), ("lists", self.shown)):
            if times is not None:
                found[f"{name}: head"] = head_share(times, self.popularity)
                found[f"{name}: Gini"] = gini_index(times, known)
                found[f"{name}: rho"] = rank_correlation(times, self.popularity)
        return found


def frequencies(comparison: ComparisonFolder) -> list[Frequencies]:
    """The entries of a comparison that have a finished seed."""
    popularity, made = np.array(list(comparison.items.values()), int), []
    for model in comparison.models:
        sent, shown = list[Longs](), list[Longs]()
        for part in model.done:
            if part.item_rows is not None:
                sent.append(_counts(comparison, part, ITEM_ROWS, part.item_rows))
            first = Counter(item for _, rank, item, _ in part.read_lists() if rank <= comparison.cutoff)
            shown.append(_counts(comparison, part, LISTS, first))
        if shown:
            total = np.sum(sent, axis=0) if sent else None
            made.append(Frequencies(model.label, popularity, total, tuple(shown)))
    return made


def _counts(comparison: ComparisonFolder, part: Run, name: str, found: Mapping[str, int]) -> Longs:
    """What a file counts, in the order of items.csv; refuses an item that is not there."""
    strange = next((item for item in found if item not in comparison.items), None)
    if strange is not None:
        raise RunError(
            f"{part.path / name} is damaged: '{strange}' is no item of the comparison; run it again."
        )
    return np.array([found.get(item, 0) for item in comparison.items], np.int64)


@dataclass(frozen=True, eq=False)
class Bias:
    """The bias of a comparison, category by category."""

    categories: tuple[str, ...]
    items: Ints  # (categories,) how many items each has
    train: Floats  # (categories,) B_T: the training part
    printed: Floats | None  # (categories,) what the thesis prints for the training part; NaN where it has none
    shown: dict[str, Floats]  # label -> (categories,) B_R: the lists
    each_seed: dict[str, Floats] = field(default_factory=dict)  # label -> (seeds, categories) B_R

    def disparity(self, label: str) -> Floats:
        """BD of one entry: above 0 its lists push a category, below 0 they hide it."""
        return disparity(self.train, self.shown[label])

    def disparities(self, label: str) -> list[Interval]:
        """BD of one entry with its interval over seeds, category by category."""
        each = map(seed_interval, disparity(self.train, self.each_seed[label]).T)
        return [replace(one, mean=mean) for one, mean in zip(each, self.disparity(label).tolist())]

    def mean_disparity(self, label: str) -> Interval:
        """How far the lists depart from the training part at all: |BD|, mean over categories, over seeds."""
        return seed_interval(self.mean_disparities(label))

    def mean_disparities(self, label: str) -> list[float]:
        """|BD|, mean over categories, seed by seed."""
        each: list[float] = np.nanmean(np.abs(disparity(self.train, self.each_seed[label])), axis=1).tolist()
        return each

    def deviation(self) -> Floats | None:
        """How far the measured training bias is from the printed one, as a fraction of the printed one."""
        return None if self.printed is None else self.train / self.printed - 1


def bias(comparison: ComparisonFolder, found: Sequence[Frequencies]) -> Bias | None:
    """The bias of the entries whose frequencies were found; None where the items have no categories."""
    if not comparison.run.has("categories.csv"):
        return None
    categories, printed = _categories(comparison), printed_bias(named_data(comparison.config).name)
    popularity = np.array(list(comparison.items.values()), int)
    return Bias(
        categories.labels,
        np.bincount(categories.label, minlength=len(categories.labels)).astype(np.int32),
        category_bias(popularity, categories),
        np.array([printed.get(name, np.nan) for name in categories.labels]) if printed else None,
        {one.label: category_bias(one.shown, categories) for one in found},
        {one.label: np.stack([category_bias(t, categories) for t in one.each_seed]) for one in found},
    )


@lru_cache(maxsize=1)
def exposure(comparison: ComparisonFolder) -> tuple[list[Frequencies], Bias | None]:
    """What several sections say of one comparison, read once; nothing where items were not counted."""
    counted = comparison.kind == "comparison" and comparison.run.has("items.csv")
    times = frequencies(comparison) if counted else []
    return times, bias(comparison, times) if times else None


def printed_bias(data: str) -> dict[str, float]:
    """B_T of a data set as table 4.5 of the thesis prints it, by category; {} where it prints none."""
    text = resources.files("murmura.lab.analyses").joinpath(PRINTED).read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["category"]: float(row["bias"]) for row in rows if row["data"] == data}


def _categories(comparison: ComparisonFolder) -> Relation:
    place = {item: place for place, item in enumerate(comparison.items)}
    rows = comparison.run.read_columns("categories.csv", item=place.__getitem__, category=str)
    labels = sorted({category for _, category in rows})
    code = {name: place for place, name in enumerate(labels)}
    pairs = np.array([(item, code[category]) for item, category in rows], np.int32).reshape(-1, 2)
    return Relation(tuple(labels), pairs[:, 0], pairs[:, 1])
