"""One model over its seeds: means, intervals over users, intervals over seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Bools, Floats, Ids, Ints
from murmura.evaluation import Evaluation
from murmura.evaluation.intervals import bootstrap_intervals, seed_interval
from murmura.report.result_folder import ModelRuns, ordered

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its interval; NaN bounds where there is none."""

    mean: float
    low: float = math.nan
    high: float = math.nan
    seeds: tuple[float, ...] = ()  # the value of each seed


@dataclass(frozen=True, eq=False)
class ModelSummary:
    """One model with at least one finished part."""

    model: ModelRuns
    values: dict[str, Estimate]  # "P@10" -> over users where it has a value per user, otherwise over seeds
    over_seeds: dict[str, Estimate]
    people: Evaluation  # per-user means over seeds

    @property
    def label(self) -> str:
        """The model's label."""
        return self.model.label


def model_summary(model: ModelRuns, people: Ids) -> ModelSummary:
    """Add up the finished parts of a model; `people` are the ids of all users, ascending."""
    keys = ordered([list(part.metrics) for part in model.done])
    over_seeds: dict[str, Estimate] = {}
    for key in keys:
        each = tuple(part.metrics[key] for part in model.done if key in part.metrics)
        interval = seed_interval(each, level=LEVEL)
        over_seeds[key] = Estimate(interval.mean, interval.low, interval.high, each)
    per_user = {key: _mean_over_seeds(model, key, people) for key in keys if _has_users(model, key)}
    present: Ints = np.flatnonzero(_present(model, people)).astype(np.int32)
    per_user = {key: column[present] for key, column in per_user.items()}
    values = dict(over_seeds)
    for key, interval in bootstrap_intervals(per_user, level=LEVEL).items():
        values[key] = Estimate(over_seeds[key].mean, interval.low, interval.high, over_seeds[key].seeds)
    means = {key: estimate.mean for key, estimate in values.items()}
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
