"""Every metric of ranked lists, and what the key of any result means: errors, accuracies and costs too.
Last, which results no other beats.

A new metric is one function in its family's file and one row here. docs/metrics.md has its formula under the
same key; a test refuses a row without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from murmura.core.arrays import Floats
from murmura.core.errors import SettingError
from murmura.core.plugins import Registry, unknown_name
from murmura.evaluation import formulas
from murmura.evaluation.relevance import TopKView

Better = Literal["higher", "lower", "zero"]
Scored = Literal["lists", "ratings", "labels"]  # what a protocol scores
OF: dict[Scored, str] = {
    "lists": "ranked lists",
    "ratings": "predicted ratings (protocols ratings and fedsplit)",
    "labels": "classified samples (protocols mnist-* and celeba)",
}
RATING_ERRORS = {"RMSE": "root mean squared error", "MSE": "mean squared error", "MAE": "mean absolute error"}
OVER = {
    "": "mean over groups, or of all where nobody is grouped",
    "ratings": "of all held-out ratings",
    "people": "mean over people",
}
ACCURACY = "accuracy"
TARGETS = (0.7, 0.8, 0.9, 0.95)  # local accuracies of the thesis's tables: which share of the clients is above
# of classifiers: right answers, the share of clients above a target, rounds until there are so many of them
CLASSIFICATION: dict[str, Better] = {ACCURACY: "higher", "clients": "higher", "rounds": "lower"}
ACCURACIES = {
    ACCURACY: "share of all test samples classified rightly",
    f"{ACCURACY}/clients": "mean over clients of the share classified rightly",
}


@dataclass(frozen=True)
class Metric:
    """A row of the table: the key in results ("P" becomes "P@10"), a title, and which direction is better."""

    key: str
    title: str
    better: Better


@dataclass(frozen=True)
class UserMetric(Metric):
    """One value per user; averaged over the users with a relevant test item, or over all evaluated users."""

    function: Callable[[TopKView], Floats]
    over: Literal["relevant", "all"] = "relevant"


@dataclass(frozen=True)
class SystemMetric(Metric):
    """One value for all lists together."""

    function: Callable[[TopKView], float]


@dataclass(frozen=True)
class LabelMetric(Metric):
    """One value per item category: "BD" becomes "BD/Food@10", "BDu" becomes "BDu/heavy/Food@10"."""

    function: Callable[[TopKView], dict[str, float]]


Row = UserMetric | SystemMetric | LabelMetric

_ROWS: tuple[Row, ...] = (
    UserMetric("P", "precision", "higher", formulas.precision),
    UserMetric("R", "recall", "higher", formulas.recall),
    SystemMetric("F1", "F1 of the mean precision and recall", "higher", formulas.f1_of_means),
    UserMetric("F1u", "mean of the users' F1", "higher", formulas.f1_per_user),
    UserMetric("HR", "hit rate", "higher", formulas.hit_rate),
    UserMetric("nDCG", "nDCG, binary", "higher", formulas.ndcg),
    UserMetric("nDCGg", "nDCG, graded", "higher", formulas.graded_ndcg),
    UserMetric("nDCGt", "DCG: equation 2.8 of the thesis as printed", "higher", formulas.thesis_ndcg),
    UserMetric("MRR", "mean reciprocal rank", "higher", formulas.reciprocal_rank),
    UserMetric("MAP", "mean average precision", "higher", formulas.average_precision),
    SystemMetric("IC", "item coverage (count)", "higher", formulas.item_coverage),
    SystemMetric("G", "1 - Gini index", "higher", formulas.gini_diversity),
    SystemMetric("Gini", "Gini index", "lower", formulas.gini),
    SystemMetric("SE", "Shannon entropy (bits)", "higher", formulas.shannon_entropy),
    UserMetric("ACLT", "long-tail items in the list", "higher", formulas.long_tail_count, over="all"),
    SystemMetric("PopREO", "equal opportunity of head and tail", "lower", formulas.equal_opportunity),
    SystemMetric("PopRSP", "statistical parity of head and tail", "lower", formulas.statistical_parity),
    UserMetric("EPC", "expected popularity complement", "higher", formulas.popularity_complement),
    UserMetric("EFD", "expected free discovery (bits)", "higher", formulas.free_discovery),
    LabelMetric("BD", "bias disparity", "zero", formulas.bias_disparity),
    LabelMetric("BDu", "bias disparity by group of users", "zero", formulas.bias_disparity_of_groups),
)

DEFAULT_METRICS = ("P", "R", "nDCG", "IC", "G")  # the table of `compare`
ALL_METRICS = tuple(row.key for row in _ROWS if not isinstance(row, LabelMetric))


METRICS: Registry[Row] = Registry(
    "metric",
    "murmura.metrics",
    {row.key: row for row in _ROWS},
    "a UserMetric, SystemMetric or LabelMetric whose key is the name of its entry point",
    lambda name, found: found if isinstance(found, Row) and found.key == name else None,
)


def metric_of(key: str) -> Row:
    """The row behind a metric's key, or behind a result's key such as "nDCG@10" or "BD/Food@10"."""
    return METRICS.get(key.rsplit("@", 1)[0].split("/", 1)[0])


def chosen_metrics(names: Sequence[str], kind: Scored = "lists") -> tuple[str, ...]:
    """The metrics of a table by name, the usual ones where none is named; refuses what is not scored here."""
    if not names or tuple(names) == DEFAULT_METRICS:
        return DEFAULT_METRICS
    own: dict[Scored, tuple[str, ...]] = {
        "lists": METRICS.names(),
        "ratings": tuple(RATING_ERRORS),
        "labels": tuple(CLASSIFICATION),
    }
    for name in names:
        if name not in own[kind]:
            raise SettingError(_no_metric(name, own, kind))
        if kind == "lists" and isinstance(metric_of(name), LabelMetric):
            raise SettingError(
                f"a metric of a comparison must have one value, but '{name}' has one for every category; "
                "leave it out and run `murmura analyse bias` on the folder, or call `evaluate` with it."
            )
    return tuple(dict.fromkeys(names))


def _no_metric(name: str, own: dict[Scored, tuple[str, ...]], kind: Scored) -> str:
    """The sentence for a metric that is not scored here; "hit rate" and "recall" are found by their titles."""
    metric, at, k = name.partition("@")
    if at:
        return (
            f"a metric must be named without its cut-off, but it is '{name}'; write --metrics {metric} "
            f"--at {k}."
        )
    for other, known in own.items():
        if name in known:
            return (
                f"the metrics here must be of {OF[kind]}, but '{name}' is of {OF[other]}; take one of "
                f"{', '.join(own[kind])}, or another protocol."
            )
    asked = name.casefold().replace("-", " ").replace("_", " ").strip()
    titled = (row.key for row in _ROWS if row.key in own[kind] and row.title.casefold().startswith(asked))
    found = next(titled, None) if asked else None
    hint = unknown_name("metric", name, own[kind])
    return hint if found is None else f"there is no metric '{name}': did you mean '{found}'?"


def is_error(key: str) -> bool:
    """Whether it is an error of predicted ratings: "RMSE", "MSE/people"."""
    return key.split("/", 1)[0] in RATING_ERRORS


def target_key(target: float) -> str:
    """What the share of clients with an accuracy above a target is called: "clients/70"."""
    return f"clients/{round(100 * target)}"


def is_of_labels(key: str) -> bool:
    """Whether it says how samples are classified: "accuracy/clients", "clients/80", "rounds/50>80"."""
    return key.split("/", 1)[0] in CLASSIFICATION


def is_summary(key: str) -> bool:
    """Whether a table of one line per model has room for it: of what counts clients, rounds for half of all."""
    return not key.startswith(("rounds/", "clients/")) or key.startswith("rounds/50>")


def has_no_cutoff(key: str) -> bool:
    """Whether it is a result of predictions, not of lists of some length."""
    return is_error(key) or is_of_labels(key)


def is_cost(key: str) -> bool:
    """Metrics are "P@10", errors of ratings or accuracies; what else has no cut-off is a cost."""
    return "@" not in key and not has_no_cutoff(key)


def cutoff(key: str) -> int:
    """The 10 of "P@10"; 0 where it is no number."""
    digits = key.rsplit("@", 1)[-1]
    return int(digits) if digits.isdecimal() else 0


def better(key: str) -> Better:
    """Which direction is better: costs lower, metrics as their table says, unknown ones higher."""
    try:
        return "lower" if is_cost(key) else direction(key)
    except SettingError:
        return "higher"


def direction(key: str) -> Better:
    """The same of a metric: lower for errors, else as the tables say; refuses one that nobody knows."""
    if is_of_labels(key):
        return CLASSIFICATION[key.split("/", 1)[0]]
    return "lower" if is_error(key) else metric_of(key).better


def title(key: str) -> str:
    """What a metric measures, in words; the key itself where nobody knows."""
    if is_error(key):
        error, _, over = key.partition("/")
        return f"{RATING_ERRORS[error]} of predicted ratings, {OVER[over]}"
    if key in ACCURACIES:
        return ACCURACIES[key]
    if is_of_labels(key):  # "clients/80" or "rounds/50>80"
        share, _, target = key.partition("/")[2].rpartition(">")
        above = f"clients with a local accuracy above {target} %"
        return f"rounds until {share} % are {above}" if share else f"share of {above}"
    try:
        return key if is_cost(key) else metric_of(key).title
    except SettingError:
        return key


def badness(key: str, value: float) -> float:
    """A number that is smaller for a better value."""
    best = better(key)
    return -value if best == "higher" else abs(value) if best == "zero" else value


T = TypeVar("T")


def pareto_front(
    among: Iterable[T], cost: Callable[[T], float | None], gain: Callable[[T], float | None]
) -> list[T]:
    """Those no other beats: none costs at most as much, gains at least as much, and differs.

    The Pareto front of the thesis, 4.6.4 and figure 4.6.
    Cheapest first; equal ones are all on it, in their order. Whoever has no cost or no gain takes no part.
    """
    known = [
        (price, worth, one)
        for one in among
        if (price := cost(one)) is not None and (worth := gain(one)) is not None
        if math.isfinite(price) and math.isfinite(worth)
    ]
    front: list[tuple[float, float, T]] = []
    for price, worth, one in sorted(known, key=lambda three: (three[0], -three[1])):
        if not front or worth > front[-1][1] or (price, worth) == front[-1][:2]:
            front.append((price, worth, one))
    return [one for *_, one in front]
