"""What the runs of a folder add up to: means over seeds, intervals over users, tests against the best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from murmura.core.arrays import Floats, Ids, Ints
from murmura.engine.part_files import ordered
from murmura.evaluation import Evaluation
from murmura.evaluation.registry import badness, better, cutoff, has_no_cutoff, is_cost, is_summary
from murmura.evaluation.significance import (
    Interval,
    PairedDifference,
    bootstrap_intervals,
    pair_tests,
    seed_interval,
)
from murmura.studies.compare.folder import BELOW_MOSTPOP, ComparisonFolder, ModelRuns


@dataclass(frozen=True, eq=False)
class ModelSummary:
    """One model with at least one finished part."""

    model: ModelRuns
    values: dict[str, Interval]  # "P@10" -> over users where it has a value per user, otherwise over seeds
    over_seeds: dict[str, Interval]
    people: Evaluation  # per-user means over seeds

    @property
    def label(self) -> str:
        """The model's label."""
        return self.model.label


@dataclass(frozen=True, eq=False)
class Results:
    """All a page says in numbers."""

    lines: tuple[ModelSummary, ...]
    metrics: tuple[str, ...]  # every metric, in the order the runs wrote them
    costs: tuple[str, ...]
    against_best: tuple[PairedDifference, ...]
    against_baseline: tuple[PairedDifference, ...]  # federated lines against the best centralised of their kind

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """The list lengths, the main one first: 10 where it is there, otherwise the largest."""
        found = sorted({cutoff(key) for key in self.metrics})
        main = 10 if 10 in found else max(found, default=0)
        return tuple(sorted(found, key=lambda k: (k != main, k)))

    def at(self, k: int) -> tuple[str, ...]:
        """The metrics with one cut-off, those of single categories apart."""
        kept = (key for key in self.metrics if cutoff(key) == k and is_summary(key))
        return tuple(key for key in kept if "/" not in key or has_no_cutoff(key))

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

    def best_of_kinds(self, key: str) -> dict[tuple[bool, bool], ModelSummary]:
        """The first line of each kind: (uses more than pairs, federated)."""
        found: dict[tuple[bool, bool], ModelSummary] = {}
        for line in self.ranked(key):
            found.setdefault((bool(line.model.uses), line.model.federated), line)
        return found

    @property
    def below_mostpop(self) -> tuple[ModelSummary, ...]:
        """Who is worse than the most popular items by the primary metric, where these were compared."""
        key = self.primary or ""
        ranked = self.ranked(key)
        level = [badness(key, line.values[key].mean) for line in ranked if line.model.name == "mostpop"]
        return tuple(line for line in ranked if level and badness(key, line.values[key].mean) > level[0])

    def best(self, key: str) -> float | None:
        """The best mean of a metric or cost."""
        ranked = self.ranked(key)
        return ranked[0].values[key].mean if ranked else None


def is_number(estimate: Interval | None) -> bool:
    """Whether there is a value to show."""
    return estimate is not None and math.isfinite(estimate.mean)


def summarise(folder: ComparisonFolder) -> Results:
    """Means, intervals and tests of every model that has a finished part."""
    models = [model for model in folder.models if model.done]
    named = [part.users for model in models for part in model.done]
    people = np.unique(np.concatenate([np.empty(0, np.str_), *named]))
    lines = tuple(model_summary(model, people) for model in models)
    keys = ordered([list(part.metrics) for model in models for part in model.done])
    metrics, costs = tuple(key for key in keys if not is_cost(key)), tuple(filter(is_cost, keys))
    results = Results(lines, metrics, costs, (), ())
    best: list[PairedDifference] = []
    baseline: list[PairedDifference] = []
    for key in metrics:
        having = [line for line in results.ranked(key) if key in line.people.per_user]
        best += (found := tests_against(key, having[:1], having[1:]))
        for more in (False, True):  # among those that use the pairs alone, and among those that use more
            alike = [line for line in having if bool(line.model.uses) is more]
            base = [line for line in alike if not line.model.federated][:1]
            rivals = [line for line in alike if line.model.federated]
            if base == having[:1]:  # the same question, asked and corrected once
                baseline += [test for test in found if test.label in {line.label for line in rivals}]
            else:
                baseline += tests_against(key, base, rivals)
    return replace(results, against_best=tuple(best), against_baseline=tuple(baseline))


def model_summary(model: ModelRuns, people: Ids) -> ModelSummary:
    """Add up the finished parts of a model; `people` are the ids of all users, ascending."""
    keys = ordered([list(part.metrics) for part in model.done])
    over_seeds = {key: seed_interval(model.each_seed(key)) for key in keys}
    here = np.concatenate([np.empty(0, np.str_), *(part.users for part in model.done)])
    present: Ints = np.unique(np.searchsorted(people, here)).astype(np.int32)
    having = [key for key in keys if all(key in part.per_user and len(part.users) for part in model.done)]
    per_user = {key: _mean_over_seeds(model, key, people)[present] for key in having}
    values = dict(over_seeds)
    for key, interval in bootstrap_intervals(per_user).items():
        values[key] = replace(interval, mean=over_seeds[key].mean)
    means = {key: interval.mean for key, interval in values.items()}
    return ModelSummary(model, values, over_seeds, Evaluation(means, per_user, present))


def _mean_over_seeds(model: ModelRuns, key: str, people: Ids) -> Floats:
    """Per user the mean over the seeds in which she has a value; NaN where she has none."""
    total, count = np.zeros(len(people)), np.zeros(len(people))
    for part in model.done:
        column = part.per_user[key]
        known = ~np.isnan(column)
        place = np.searchsorted(people, part.users[known])
        total[place] += column[known]
        count[place] += 1
    mean: Floats = np.full(len(people), np.nan)
    return np.divide(total, count, out=mean, where=count > 0)


def tests_against(
    key: str, reference: Sequence[ModelSummary], others: Sequence[ModelSummary]
) -> list[PairedDifference]:
    """Each of the others against the reference, corrected for their number; nothing where nobody is common."""
    return pair_tests(key, [(line, first) for first in reference[:1] for line in others])


def named_tests(
    results: Results, pairs: Sequence[tuple[str, str]], metrics: Sequence[str]
) -> list[PairedDifference]:
    """Named models against each other, metric by metric; a metric without a value per user is not tested.

    The pairs of one metric are one family for the correction; a pair of which a model is missing is left out.
    """
    tests = []
    for key in metrics:
        having = {line.label: line for line in results.lines if key in line.people.per_user}
        known = [(having[one], having[other]) for one, other in pairs if {one, other} <= having.keys()]
        tests += pair_tests(key, known)
    return tests


def marks(results: Results, line: ModelSummary, key: str) -> str:
    """Below MostPop, worse than the best, better or worse than the best centralised of its kind."""

    def sure(tests: Iterable[PairedDifference]) -> PairedDifference | None:
        return next((t for t in tests if (t.label, t.metric) == (line.label, key) and t.sure), None)

    mark = BELOW_MOSTPOP if key == results.primary and line in results.below_mostpop else ""
    mark += "†" if sure(results.against_best) else ""
    base = sure(results.against_baseline)
    if base is not None:
        mark += "↑" if (base.difference.mean > 0) == (better(key) == "higher") else "↓"
    return mark


def decimals_for(values: Sequence[float | None], digits: int = 4, most: int = 6) -> int:
    """How many decimals give the largest of the values `digits` digits; none from 100 on."""
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    if not sizes or max(sizes) >= 100:
        return 0
    return min(most, max(0, digits - 1 - math.floor(math.log10(max(sizes)))))
