"""What the runs of a folder add up to: means over seeds, intervals over users, tests against the best."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from murmura.core.errors import SettingError
from murmura.evaluation import metric_of, registry
from murmura.evaluation.intervals import Interval
from murmura.evaluation.registry import Better, is_error
from murmura.report.model_summary import ModelSummary, model_summary
from murmura.report.paired_tests import PairedDifference, tests_against
from murmura.report.result_folder import ResultFolder, is_cost, ordered

ERRORS = {"RMSE": "root mean squared error", "MSE": "mean squared error", "MAE": "mean absolute error"}
OVER = {
    "": "mean over groups, or of all where nobody is grouped",
    "ratings": "of all held-out ratings",
    "people": "mean over people",
}


@dataclass(frozen=True, eq=False)
class Results:
    """All a page says in numbers."""

    lines: tuple[ModelSummary, ...]
    metrics: tuple[str, ...]  # every metric, in the order the runs wrote them
    costs: tuple[str, ...]
    against_best: tuple[PairedDifference, ...]
    against_baseline: tuple[PairedDifference, ...]  # federated lines against the best centralised one

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """The list lengths, the main one first: 10 where it is there, otherwise the largest."""
        found = sorted({cutoff(key) for key in self.metrics})
        main = 10 if 10 in found else max(found, default=0)
        return tuple(sorted(found, key=lambda k: (k != main, k)))

    def at(self, k: int) -> tuple[str, ...]:
        """The metrics with one cut-off, those of single categories apart."""
        return tuple(key for key in self.metrics if cutoff(key) == k and ("/" not in key or is_error(key)))

    @property
    def primary(self) -> str | None:
        """The metric the models are ordered by: the first with a value per user at the main cut-off."""
        if not self.metrics:
            return None
        here = self.at(self.cutoffs[0]) or self.metrics
        per_user = [key for key in here if any(key in line.people.per_user for line in self.lines)]
        return (per_user or list(here))[0]

    def ranked(self, key: str) -> tuple[ModelSummary, ...]:
        """The lines that have the metric, best first; equal ones in the order of the configuration."""
        having = [line for line in self.lines if is_number(line.values.get(key))]
        return tuple(sorted(having, key=lambda line: badness(key, line.values[key].mean)))

    def best(self, key: str) -> float | None:
        """The best mean of a metric or cost."""
        ranked = self.ranked(key)
        return ranked[0].values[key].mean if ranked else None


def is_number(estimate: Interval | None) -> bool:
    """Whether there is a value to show."""
    return estimate is not None and math.isfinite(estimate.mean)


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


def title(key: str) -> str:
    """What a metric measures, in words; the key itself where nobody knows."""
    if is_error(key):
        error, _, over = key.partition("/")
        return f"{ERRORS[error]} of predicted ratings, {OVER[over]}"
    try:
        return key if is_cost(key) else metric_of(key).title
    except SettingError:
        return key


def badness(key: str, value: float) -> float:
    """A number that is smaller for a better value."""
    direction = better(key)
    return -value if direction == "higher" else abs(value) if direction == "zero" else value


def summarise(folder: ResultFolder) -> Results:
    """Means, intervals and tests of every model that has a finished part."""
    models = [model for model in folder.models if model.done]
    named = [part.users for model in models for part in model.done]
    people = np.unique(np.concatenate([np.empty(0, np.str_), *named]))
    lines = tuple(model_summary(model, people) for model in models)
    keys = ordered([list(part.metrics) for model in models for part in model.done])
    metrics = tuple(key for key in keys if not is_cost(key))
    central = [line for line in lines if not line.model.federated]
    federated = [line for line in lines if line.model.federated]
    tested = ordered([list(line.people.per_user) for line in lines])
    results = Results(lines, metrics, tuple(filter(is_cost, keys)), (), ())
    best: list[PairedDifference] = []
    baseline: list[PairedDifference] = []
    for key in (key for key in metrics if key in tested):
        having = [line for line in results.ranked(key) if key in line.people.per_user]
        best += (found := tests_against(key, having[:1], having[1:]))
        base = [line for line in having if line in central][:1]
        rivals = [line for line in having if line in federated]
        if base == having[:1]:  # the same question, asked and corrected once
            baseline += [test for test in found if test.label in {line.label for line in rivals}]
        else:
            baseline += tests_against(key, base, rivals)
    return Results(lines, metrics, results.costs, tuple(best), tuple(baseline))
