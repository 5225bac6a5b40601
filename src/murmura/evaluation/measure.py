"""Lists and a split, or predicted and true ratings, become an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.catalogue import Relation, Split
from murmura.core.errors import DataError, SettingError
from murmura.core.model import RankedLists
from murmura.evaluation.registry import DEFAULT_METRICS, LabelMetric, UserMetric, metric_of
from murmura.evaluation.relevance import GiniCatalogue, Relevance, cut_at


@dataclass(frozen=True)
class PlainTable:
    """Columns and rows of text; the first column is of names, the others of numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    def __str__(self) -> str:
        lines = [self.columns, *self.rows]
        width = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        drawn = ["  ".join([line[0].ljust(width[0]), *map(str.rjust, line[1:], width[1:])]) for line in lines]
        return "\n".join([*([self.caption] if self.caption else []), *(line.rstrip() for line in drawn)])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = ""
        for name, *cells in self.rows:
            numbers = "".join(f'<td style="text-align:right">{escape(cell)}</td>' for cell in cells)
            body += f'<tr><th style="text-align:left">{escape(name)}</th>{numbers}</tr>'
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def number(value: float | None) -> str:
    """A metric in a table: whole numbers whole, the others with five digits; nothing of nothing."""
    if value is None or value != value:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.5f}"


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
    split: Split | Relevance,
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
        split: Where the lists came from; only its test part decides what is relevant. For many lists and one
            split, its `Relevance`.
        cutoffs: The list lengths to score at; the lists must be at least as long as the largest.
        relevant_from: The value from which a test row is relevant; None = every test row.
        gini_catalogue: What N is in G and Gini: the whole catalogue (FPL, FedeRank) or the training items
            (Elliot).
        metrics: Keys of `METRICS`.
        categories: Which items carry which labels; needed by BD alone.
    """
    truth = split if isinstance(split, Relevance) else Relevance.of(split, relevant_from)
    rows = [metric_of(key) for key in metrics]
    check_cutoffs(cutoffs, lists)
    whole = replace(cut_at(lists, truth, max(cutoffs)), gini_catalogue=gini_catalogue, categories=categories)
    values: dict[str, float] = {}
    per_user: dict[str, Floats] = {}
    for k in cutoffs:
        cut = whole.at(k)
        for row in rows:
            if isinstance(row, UserMetric):
                column = row.function(cut)
                all_count = row.over == "all"
                values[f"{row.key}@{k}"] = float(column.mean()) if all_count else cut.mean(column)
                per_user[f"{row.key}@{k}"] = column if all_count else np.where(truth.defined, column, np.nan)
            elif isinstance(row, LabelMetric):
                values |= {f"{row.key}/{label}@{k}": value for label, value in row.function(cut).items()}
            else:
                values[f"{row.key}@{k}"] = row.function(cut)
    return Evaluation(values, per_user, truth.users)


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


def rating_errors(predicted: Floats, actual: Floats, user: Ints | None = None) -> Evaluation:
    """RMSE, MSE and MAE of all rows, and with `user` (a code per row) of each user and averaged over users.

    MSE = mean of (predicted - actual)^2, RMSE its square root, MAE = mean of |predicted - actual|. RMSE, MSE
    and MAE are over rows; RMSEu, MSEu and MAEu are the means of the users' own values. A group code in place of
    a user code gives the means over groups of the FedSPLIT tables.
    """
    predicted, actual = np.asarray(predicted, np.float64), np.asarray(actual, np.float64)
    lengths = {len(column) for column in (predicted, actual, user) if column is not None}
    if lengths == {0} or len(lengths) != 1:
        raise DataError(
            f"predicted, actual and user must be equally long and not empty, but have {sorted(lengths)} rows."
        )
    if not (np.isfinite(predicted).all() and np.isfinite(actual).all()):
        raise DataError(
            "predicted and actual ratings must be finite numbers, but some are not; predict every row."
        )
    error = predicted - actual
    square, size = error**2, np.abs(error)
    mse_all, mae_all = float(square.mean()), float(size.mean())
    values = {"RMSE": mse_all**0.5, "MSE": mse_all, "MAE": mae_all}
    if user is None:
        return Evaluation(values, {}, np.empty(0, np.int32))
    users, owner = np.unique(user, return_inverse=True)
    rows = np.bincount(owner)
    mse, mae = np.bincount(owner, square) / rows, np.bincount(owner, size) / rows
    per_user = {"RMSE": np.sqrt(mse), "MSE": mse, "MAE": mae}
    values |= {f"{key}u": float(column.mean()) for key, column in per_user.items()}
    return Evaluation(values, per_user, users.astype(np.int32))
