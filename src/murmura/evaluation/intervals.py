"""How sure a number is: bootstrap intervals over users (Efron, 1979), t intervals over seeds (Student)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Bools, Floats
from murmura.core.errors import SettingError

BLOCK = 1 << 20  # draws held at once: resamples come in blocks, so memory does not grow with their number


@dataclass(frozen=True)
class Interval:
    """A mean and the bounds that hold it with probability `level`; NaN bounds where they are not defined."""

    mean: float
    low: float = math.nan
    high: float = math.nan
    level: float = 0.95


def bootstrap_interval(
    values: Floats, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval:
    """The percentile interval of the mean over users; users with NaN take no part."""
    return bootstrap_intervals({"": values}, level=level, resamples=resamples, seed=seed)[""]


def bootstrap_intervals(
    per_user: Mapping[str, Floats], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> dict[str, Interval]:
    """The interval of every metric of an `Evaluation.per_user`; metrics of the same users share resamples.

    A resample draws as many users as there are, with replacement; the bounds are the (1 - level) / 2 and
    (1 + level) / 2 quantiles of the resamples' means. The same seed gives the same bounds.
    """
    _check(level, resamples)
    together: dict[bytes, list[str]] = {}
    for key, column in per_user.items():
        together.setdefault(np.isnan(column).tobytes(), []).append(key)
    intervals: dict[str, Interval] = {}
    for keys in together.values():
        known: Bools = ~np.isnan(per_user[keys[0]])
        table = np.stack([per_user[key][known] for key in keys], axis=1)  # (users, metrics)
        if not len(table):
            intervals |= {key: Interval(math.nan, math.nan, math.nan, level) for key in keys}
            continue
        means = resampled_means(table, resamples, np.random.default_rng(seed))
        low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2), axis=0)
        for place, key in enumerate(keys):
            intervals[key] = Interval(
                float(table[:, place].mean()), float(low[place]), float(high[place]), level
            )
    return {key: intervals[key] for key in per_user}


def resampled_means(table: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """The column means of `resamples` draws of the rows with replacement: (resamples, columns)."""
    n, columns = len(table), np.ascontiguousarray(table.T)
    block = max(1, BLOCK // n)
    means = np.empty((resamples, table.shape[1]))
    for first in range(0, resamples, block):
        size = min(block, resamples - first)
        drawn = rng.integers(0, n, (size, n), np.int64)
        drawn += np.arange(size)[:, None] * n
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        weights = times.astype(np.float64)
        for place, column in enumerate(columns):  # each alone: its bits do not depend on the metrics beside it
            means[first : first + size, place] = weights @ column / n
    return means


def seed_interval(values: Sequence[float], *, level: float = 0.95) -> Interval:
    """mean ± t(n - 1) s / sqrt(n) over n seeds; one seed has a mean and NaN bounds."""
    from scipy.special import stdtrit

    _check(level, 1)
    column = np.asarray(values, np.float64)
    n = len(column)
    if n < 2:
        return Interval(float(column[0]) if n else math.nan, math.nan, math.nan, level)
    mean = float(column.mean())
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * float(column.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - reach, mean + reach, level)


def _check(level: float, resamples: int) -> None:
    if not 0 < level < 1:
        raise SettingError(f"the level of an interval must be between 0 and 1, but is {level}; try 0.95.")
    if resamples < 1:
        raise SettingError(f"the number of resamples must be 1 or more, but is {resamples}; try 2000.")
