"""Every metric of ranked lists: a new one is one function in its family's file and one row here.

docs/metrics.md has its formula under the same key; a test refuses a row without one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from murmura.core.arrays import Floats
from murmura.core.errors import SettingError
from murmura.evaluation import accuracy, categories, coverage, gain, popularity
from murmura.evaluation.cut import Cut
from murmura.evaluation.ratings import RATING_ERRORS

Better = Literal["higher", "lower", "zero"]


@dataclass(frozen=True)
class Metric:
    """A row of the table: the key in results ("P" becomes "P@10"), a title, and which direction is better."""

    key: str
    title: str
    better: Better


@dataclass(frozen=True)
class UserMetric(Metric):
    """One value per user; averaged over the users with a relevant test item, or over all evaluated users."""

    function: Callable[[Cut], Floats]
    over: Literal["relevant", "all"] = "relevant"


@dataclass(frozen=True)
class SystemMetric(Metric):
    """One value for all lists together."""

    function: Callable[[Cut], float]


@dataclass(frozen=True)
class LabelMetric(Metric):
    """One value per item category: "BD" becomes "BD/Food@10"."""

    function: Callable[[Cut], dict[str, float]]


_ROWS: tuple[UserMetric | SystemMetric | LabelMetric, ...] = (
    UserMetric("P", "precision", "higher", accuracy.precision),
    UserMetric("R", "recall", "higher", accuracy.recall),
    SystemMetric("F1", "F1 of the mean precision and recall", "higher", accuracy.f1_of_means),
    UserMetric("F1u", "mean of the users' F1", "higher", accuracy.f1_per_user),
    UserMetric("HR", "hit rate", "higher", accuracy.hit_rate),
    UserMetric("nDCG", "nDCG, binary", "higher", gain.ndcg),
    UserMetric("nDCGg", "nDCG, graded", "higher", gain.graded_ndcg),
    UserMetric("nDCGt", "DCG: equation 2.8 of the thesis as printed", "higher", gain.thesis_ndcg),
    UserMetric("MRR", "mean reciprocal rank", "higher", accuracy.reciprocal_rank),
    UserMetric("MAP", "mean average precision", "higher", accuracy.average_precision),
    SystemMetric("IC", "item coverage (count)", "higher", coverage.item_coverage),
    SystemMetric("G", "1 - Gini index", "higher", coverage.gini_diversity),
    SystemMetric("Gini", "Gini index", "lower", coverage.gini),
    SystemMetric("SE", "Shannon entropy (bits)", "higher", coverage.shannon_entropy),
    UserMetric("ACLT", "long-tail items in the list", "higher", popularity.long_tail_count, over="all"),
    SystemMetric("PopREO", "equal opportunity of head and tail", "lower", popularity.equal_opportunity),
    SystemMetric("PopRSP", "statistical parity of head and tail", "lower", popularity.statistical_parity),
    LabelMetric("BD", "bias disparity", "zero", categories.bias_disparity),
)

METRICS = {row.key: row for row in _ROWS}
DEFAULT_METRICS = ("P", "R", "nDCG", "IC", "G")  # the table of `compare`
ALL_METRICS = tuple(key for key, row in METRICS.items() if not isinstance(row, LabelMetric))


def metric_of(key: str) -> UserMetric | SystemMetric | LabelMetric:
    """The row behind a metric's key, or behind a result's key such as "nDCG@10" or "BD/Food@10"."""
    name = key.rsplit("@", 1)[0].split("/", 1)[0]
    if name not in METRICS:
        near = difflib.get_close_matches(name, METRICS, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"it is one of {', '.join(METRICS)}."
        raise SettingError(f"there is no metric '{name}': {hint}")
    return METRICS[name]


def is_error(key: str) -> bool:
    """Whether it is an error of predicted ratings: "RMSE", "MSE/people"."""
    return key.split("/", 1)[0] in RATING_ERRORS


def better(key: str) -> Better:
    """Which direction of a result is better: lower for errors, else as the table says."""
    return "lower" if is_error(key) else metric_of(key).better
