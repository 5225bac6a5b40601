"""How sure is a number, and is a difference more than chance? Intervals, and paired tests on per-user values.

Bootstrap intervals over users (Efron, 1979), t intervals over seeds. Paired t-test (Student, 1908), Wilcoxon
signed-rank test (1945), Bonferroni and Holm (1979) corrections; all two-sided. docs/metrics.md says when to use
which. Then models against each other on the same users.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.errors import DataError, SettingError
from murmura.evaluation.measure import Evaluation

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


Test = Literal["t", "wilcoxon"]
Correction = Literal["holm", "bonferroni", "none"]
EXACT = 50  # up to this many differences Wilcoxon's distribution is counted out
PLACES = 12  # differences are rounded to this many decimals: 0.3 - 0.2 and 0.2 - 0.1 are a tie


@dataclass(frozen=True)
class PairedTest:
    """One method against another on the users both have a value for."""

    users: int  # the common users
    difference: float  # mean of first - second
    statistic: float  # t, or the smaller of Wilcoxon's two rank sums
    p: float  # two-sided
    adjusted: float  # p after the correction; p itself where none was made


def compare(first: Evaluation, second: Evaluation, metric: str, test: Test = "wilcoxon") -> PairedTest:
    """Test first - second on the per-user values of `metric` ("nDCG@10") over their common users."""
    return compare_values(*paired(first, second, metric), test)


def paired(first: Evaluation, second: Evaluation, metric: str) -> tuple[Floats, Floats]:
    """The per-user values of `metric` on both sides, of the common users."""
    for one in (first, second):
        if metric not in one.per_user:
            known = ", ".join(one.per_user) or "none"
            raise SettingError(
                f"a test needs a metric with a value per user, but '{metric}' is not among {known}."
            )
    _, here, there = np.intersect1d(first.users, second.users, assume_unique=True, return_indices=True)
    return first.per_user[metric][here], second.per_user[metric][there]


def differences(first: Floats, second: Floats) -> Floats:
    """first - second, aligned by user; a user with NaN on either side takes no part."""
    difference = np.round(first - second, PLACES)
    return difference[~np.isnan(difference)]


def compare_values(first: Floats, second: Floats, test: Test = "wilcoxon") -> PairedTest:
    """Test first - second, aligned by user; a user with NaN on either side takes no part.

    All differences zero: p = 1. Fewer than two users: p = NaN.
    """
    difference = differences(first, second)
    if not len(difference):
        raise DataError("a paired test needs users with a value on both sides, but there are none.")
    if len(difference) < 2:
        statistic, p = math.nan, math.nan
    elif not difference.any():
        statistic, p = 0.0, 1.0
    else:
        statistic, p = _paired_t(difference) if test == "t" else _signed_rank(difference)
    return PairedTest(len(difference), float(difference.mean()), statistic, p, p)


def compare_all(
    reference: Evaluation,
    others: Mapping[str, Evaluation],
    metric: str,
    test: Test = "wilcoxon",
    correction: Correction = "holm",
) -> dict[str, PairedTest]:
    """Each of `others` against the reference, the p-values corrected for their number."""
    made = {name: compare(other, reference, metric, test) for name, other in others.items()}
    adjusted = adjust([one.p for one in made.values()], correction)
    return {name: replace(one, adjusted=float(p)) for (name, one), p in zip(made.items(), adjusted)}


def adjust(p: Sequence[float], correction: Correction = "holm") -> Floats:
    """The p-values corrected for how many tests were made; a NaN is no test and stays NaN."""
    if correction == "none":
        return np.asarray(p, np.float64)
    return holm(p) if correction == "holm" else bonferroni(p)


def bonferroni(p: Sequence[float]) -> Floats:
    """min(1, m p) for m tests."""
    column = np.asarray(p, np.float64)
    return np.minimum(1.0, column * np.count_nonzero(~np.isnan(column)))


def holm(p: Sequence[float]) -> Floats:
    """Step-down: the i-th smallest of m p-values times m - i + 1, never below the one before, at most 1."""
    column = np.asarray(p, np.float64)
    adjusted = np.full(len(column), np.nan)
    order = np.argsort(column, kind="stable")[: np.count_nonzero(~np.isnan(column))]  # NaN sorts last
    scaled = column[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def _paired_t(difference: Floats) -> tuple[float, float]:
    """t = mean / (s / sqrt(n)) with n - 1 degrees of freedom; the same difference for all: p = 0."""
    from scipy.special import stdtr

    n = len(difference)
    spread = float(difference.std(ddof=1)) if np.ptp(difference) else 0.0
    if not spread:
        return math.copysign(math.inf, difference[0]), 0.0
    t = float(difference.mean()) / (spread / math.sqrt(n))
    return t, float(2 * stdtr(n - 1, -abs(t)))


def _signed_rank(difference: Floats) -> tuple[float, float]:
    """The smaller sum of the ranks of |d| by the sign of d, zero differences dropped, ties at their mean rank.

    Up to EXACT differences p is exact, ties included; above it is the normal approximation with the variance
    corrected for ties, and without a correction for continuity.
    """
    from scipy.special import ndtr

    kept = difference[difference != 0]
    n = len(kept)
    _, tie, count = np.unique(np.abs(kept), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(count) - count + 1)[tie]  # twice the mean rank: a whole number
    total = n * (n + 1)
    up = int(doubled[kept > 0].sum())
    low = min(up, total - up)
    if n <= EXACT:
        return low / 2, min(1.0, 2 * _share_at_most(doubled, low))
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((count**3 - count).sum()) / 48
    return low / 2, float(2 * ndtr((low - total / 2) / 2 / math.sqrt(variance)))


def _share_at_most(ranks: Longs, limit: int) -> float:
    """The share of the 2^n choices of signs whose chosen ranks add up to `limit` at most."""
    share = np.zeros(limit + 1)
    share[0] = 1.0
    for rank in ranks.tolist():
        chosen = np.zeros_like(share)
        chosen[rank:] = share[: max(0, limit + 1 - rank)]
        share = (share + chosen) / 2
    return float(share.sum())


TESTS: tuple[Test, ...] = ("t", "wilcoxon")
ALPHA = 0.05  # a difference is marked below this corrected p


class Named(Protocol):
    """A model with a value for each user."""

    @property
    def label(self) -> str:
        """What it is called."""

    @property
    def people(self) -> Evaluation:
        """Its values."""


@dataclass(frozen=True)
class PairedDifference:
    """One model against a reference on one metric."""

    metric: str
    label: str
    reference: str
    users: int
    difference: Interval  # label - reference
    p_t: float  # paired t-test, Holm-corrected
    p_wilcoxon: float  # Wilcoxon signed-rank test, Holm-corrected
    ahead: int  # users with a higher value than under the reference
    level: int
    behind: int

    @property
    def sure(self) -> bool:
        """Whether the difference is more than chance, by the t-test."""
        return self.p_t < ALPHA


def pair_tests(key: str, pairs: Sequence[tuple[Named, Named]]) -> list[PairedDifference]:
    """The first of every pair against its second, corrected for their number; none without a user of both."""
    sides = [(line, other, paired(line.people, other.people, key)) for line, other in pairs]
    known = [one for one in sides if len(differences(*one[2]))]
    by_t, by_rank = (adjust([compare_values(*both, test).p for *_, both in known]) for test in TESTS)
    apart = [differences(*both) for *_, both in known]
    intervals = bootstrap_intervals({str(place): column for place, column in enumerate(apart)})
    found = []
    for (line, other, _), d, interval, p_t, p_rank in zip(known, apart, intervals.values(), by_t, by_rank):
        counts = (int(np.count_nonzero(sign)) for sign in (d > 0, d == 0, d < 0))
        names = key, line.label, other.label
        found.append(PairedDifference(*names, len(d), interval, float(p_t), float(p_rank), *counts))
    return found
