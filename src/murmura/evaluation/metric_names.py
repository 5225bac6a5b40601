"""What a key of a result measures, in words, and which way it is better: metrics, errors, accuracies, costs."""

from __future__ import annotations

from murmura.core.errors import SettingError
from murmura.evaluation import registry
from murmura.evaluation.registry import Better, has_no_cutoff, is_error, is_of_labels, metric_of

ERRORS = {"RMSE": "root mean squared error", "MSE": "mean squared error", "MAE": "mean absolute error"}
OVER = {
    "": "mean over groups, or of all where nobody is grouped",
    "ratings": "of all held-out ratings",
    "people": "mean over people",
}
ACCURACIES = {
    "accuracy": "share of all test samples classified rightly",
    "accuracy/clients": "mean over clients of the share classified rightly",
}


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
        return "lower" if is_cost(key) else registry.better(key)
    except SettingError:
        return "higher"


def _over_clients(key: str) -> str:
    """What "clients/80" and "rounds/50>80" measure."""
    share, _, target = key.partition("/")[2].rpartition(">")
    above = f"clients with a local accuracy above {target} %"
    return f"rounds until {share} % are {above}" if share else f"share of {above}"


def title(key: str) -> str:
    """What a metric measures, in words; the key itself where nobody knows."""
    if is_error(key):
        error, _, over = key.partition("/")
        return f"{ERRORS[error]} of predicted ratings, {OVER[over]}"
    if is_of_labels(key):
        return ACCURACIES.get(key) or _over_clients(key)
    try:
        return key if is_cost(key) else metric_of(key).title
    except SettingError:
        return key


def badness(key: str, value: float) -> float:
    """A number that is smaller for a better value."""
    direction = better(key)
    return -value if direction == "higher" else abs(value) if direction == "zero" else value
