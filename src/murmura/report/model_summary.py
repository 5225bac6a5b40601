"""One model over its seeds: means, intervals over users, intervals over seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from murmura.core.arrays import Bools, Floats, Ids, Ints
from murmura.evaluation import Evaluation
from murmura.evaluation.intervals import Interval, bootstrap_intervals, seed_interval
from murmura.report.result_folder import ModelRuns, ordered


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

    def each_seed(self, key: str) -> list[float]:
        """The value of each seed."""
        return [part.metrics[key] for part in self.model.done if key in part.metrics]


def model_summary(model: ModelRuns, people: Ids) -> ModelSummary:
    """Add up the finished parts of a model; `people` are the ids of all users, ascending."""
    keys = ordered([list(part.metrics) for part in model.done])
    over_seeds = {
        key: seed_interval([part.metrics[key] for part in model.done if key in part.metrics]) for key in keys
    }
    per_user = {key: _mean_over_seeds(model, key, people) for key in keys if _has_users(model, key)}
    present: Ints = np.flatnonzero(_present(model, people)).astype(np.int32)
    per_user = {key: column[present] for key, column in per_user.items()}
    values = dict(over_seeds)
    for key, interval in bootstrap_intervals(per_user).items():
        values[key] = replace(interval, mean=over_seeds[key].mean)
    means = {key: interval.mean for key, interval in values.items()}
    return ModelSummary(model, values, over_seeds, Evaluation(means, per_user, present))


def _has_users(model: ModelRuns, key: str) -> bool:
    return all(key in part.per_user and len(part.users) for part in model.done)


def _present(model: ModelRuns, people: Ids) -> Bools:
    seen = np.zeros(len(people), np.bool_)
    for part in model.done:
        seen[np.searchsorted(people, part.users)] = True
    return seen


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
