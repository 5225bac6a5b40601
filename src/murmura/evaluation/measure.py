"""Lists and a split become an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.catalogue import Relation
from murmura.core.errors import SettingError
from murmura.core.html_table import PlainTable, number
from murmura.core.ranked_lists import RankedLists
from murmura.core.split import Split
from murmura.evaluation.cut import GiniCatalogue, TopKView, cut_at
from murmura.evaluation.registry import DEFAULT_METRICS, LabelMetric, UserMetric, metric_of
from murmura.evaluation.relevance import Relevance


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The metrics of one set of lists: averaged, and per user where a metric has a value per user.

    A user for whom a metric is not defined (no relevant test item) has NaN there and no part in the average.
    """

    values: dict[str, float]  # "P@10" -> the value in the table
    per_user: dict[str, Floats]  # "P@10" -> (users,)
    users: Ints  # (users,) codes, ascending

    def table(self) -> PlainTable:
        """Metric by metric."""
        rows = tuple((key, number(value)) for key, value in self.values.items())
        return PlainTable(("metric", "value"), rows, f"{len(self.users):,} users")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.table()._repr_html_()


def evaluate(
    lists: RankedLists,
    split: Split,
    *,
    cutoffs: tuple[int, ...] = (10,),
    relevant_from: float | None = None,
    gini_catalogue: GiniCatalogue = "all",
    metrics: tuple[str, ...] = DEFAULT_METRICS,
    categories: Relation | None = None,
) -> Evaluation:
    """Score ranked lists against the test part of a split.

    Args:
        lists: One ranked list per user, in any order; users without a test row are ignored, and a user with
            test rows but no list counts as one with an empty list.
        split: Where the lists came from; only its test part decides what is relevant.
        cutoffs: The list lengths to score at; the lists must be at least as long as the largest.
        relevant_from: The value from which a test row is relevant; None = every test row.
        gini_catalogue: What N is in G and Gini: the whole catalogue (FPL, FedeRank) or the training items
            (Elliot).
        metrics: Keys of `METRICS`.
        categories: Which items carry which labels; needed by BD alone.
    """
    return measure(
        lists,
        Relevance.of(split, relevant_from),
        cutoffs=cutoffs,
        gini_catalogue=gini_catalogue,
        metrics=metrics,
        categories=categories,
    )


def measure(
    lists: RankedLists,
    truth: Relevance,
    *,
    cutoffs: tuple[int, ...] = (10,),
    gini_catalogue: GiniCatalogue = "all",
    metrics: tuple[str, ...] = DEFAULT_METRICS,
    categories: Relation | None = None,
) -> Evaluation:
    """`evaluate` against a test part that was read before: for many lists and one split."""
    rows = [metric_of(key) for key in metrics]
    check_cutoffs(cutoffs, lists)
    whole = replace(cut_at(lists, truth, max(cutoffs)), gini_catalogue=gini_catalogue, categories=categories)
    values: dict[str, float] = {}
    per_user: dict[str, Floats] = {}
    for k in cutoffs:
        cut = whole.at(k)
        for row in rows:
            if isinstance(row, UserMetric):
                per_user[f"{row.key}@{k}"], values[f"{row.key}@{k}"] = _of_users(row, cut)
            elif isinstance(row, LabelMetric):
                values |= {f"{row.key}/{label}@{k}": value for label, value in row.function(cut).items()}
            else:
                values[f"{row.key}@{k}"] = row.function(cut)
    return Evaluation(values, per_user, truth.users)


def _of_users(row: UserMetric, cut: TopKView) -> tuple[Floats, float]:
    column = row.function(cut)
    if row.over == "all":
        return column, float(column.mean())
    return np.where(cut.truth.defined, column, np.nan), cut.mean(column)


def check_cutoffs(cutoffs: tuple[int, ...], lists: RankedLists) -> None:
    """Refuse cut-offs that the lists cannot be scored at."""
    if not cutoffs or min(cutoffs) < 1 or len(set(cutoffs)) != len(cutoffs):
        raise SettingError(
            f"cut-offs must be distinct whole numbers of 1 or more, but are {list(cutoffs)}; try 10."
        )
    if max(cutoffs) > lists.k:
        raise SettingError(
            f"the cut-off {max(cutoffs)} needs lists of at least as many places, but they have {lists.k}; "
            "recommend more items per user."
        )
