"""Intervals: known answers, memory, and a statistical test of coverage that wrong intervals must fail."""

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from murmura.core.arrays import Floats
from murmura.core.errors import SettingError
from murmura.evaluation.significance import (
    BLOCK,
    bootstrap_interval,
    bootstrap_intervals,
    resampled_means,
    seed_interval,
)

LEVEL = 0.95


def test_resampled_means_are_means_of_drawn_rows() -> None:
    table = np.random.default_rng(1).random((7, 2))
    found = resampled_means(table, 5, np.random.default_rng(3))
    drawn = np.random.default_rng(3).integers(0, 7, (5, 7), np.int64)
    by_hand = [[sum(table[row, c] for row in rows) / 7 for c in range(2)] for rows in drawn.tolist()]
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)


def test_two_users_by_hand() -> None:
    # the mean of two draws from {0, 1} is 0, 1/2, 1 with shares 1/4, 1/2, 1/4: the middle 40 % is 1/2 alone
    found = bootstrap_interval(np.array([0.0, 1.0]), level=0.4)
    assert (found.mean, found.low, found.high) == (0.5, 0.5, 0.5)
    wide = bootstrap_interval(np.array([0.0, 1.0]), level=0.95)
    assert (wide.low, wide.high) == (0.0, 1.0)


def test_the_bounds_come_close_to_the_normal_ones() -> None:
    # the 2.5 % quantile of B resamples has a standard error of se * sqrt(q (1 - q) / B) / phi(1.96)
    values = np.random.default_rng(5).random(2000)
    resamples = 4000
    found = bootstrap_interval(values, resamples=resamples)
    se = values.std() / math.sqrt(len(values))
    tolerance = 4 * se * math.sqrt(0.025 * 0.975 / resamples) / stats.norm.pdf(1.96)
    assert found.low == pytest.approx(values.mean() - 1.96 * se, abs=tolerance)
    assert found.high == pytest.approx(values.mean() + 1.96 * se, abs=tolerance)


def test_the_same_seed_gives_the_same_bounds_and_another_gives_others() -> None:
    values = np.random.default_rng(2).random(50)
    assert bootstrap_interval(values, seed=4) == bootstrap_interval(values, seed=4)
    assert bootstrap_interval(values, seed=4) != bootstrap_interval(values, seed=5)


def test_users_with_nan_take_no_part() -> None:
    values = np.random.default_rng(2).random(50)
    gaps = np.insert(values, [0, 7, 50], np.nan)
    assert bootstrap_interval(gaps) == bootstrap_interval(values)
    assert math.isnan(bootstrap_interval(np.full(3, np.nan)).low)


def test_metrics_together_equal_metrics_alone() -> None:
    rng = np.random.default_rng(8)
    columns = {"a": rng.random(40), "gap": rng.random(40), "b": rng.random(40)}
    columns["gap"][3] = np.nan
    together = bootstrap_intervals(columns, resamples=300)
    assert list(together) == ["a", "gap", "b"]
    for key, column in columns.items():
        alone = bootstrap_interval(column, resamples=300)
        assert (together[key].low, together[key].high) == pytest.approx((alone.low, alone.high), rel=1e-12)


def test_a_constant_has_an_interval_of_no_width() -> None:
    found = bootstrap_interval(np.full(10, 0.25))
    assert (found.low, found.high) == pytest.approx((0.25, 0.25))


def test_memory_does_not_grow_with_the_number_of_resamples() -> None:
    values = np.random.default_rng(0).random(20_000)
    tracemalloc.start()
    bootstrap_interval(values, resamples=300)  # 6 million draws: 48 MB if they were held at once
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 8 * BLOCK  # the draws of a block, their flat copy, the counts, the counts as floats


# --- coverage: of many samples from a known distribution, about 95 % of the intervals hold the true mean ---

SAMPLES, USERS, RESAMPLES = 1000, 200, 300
TRUE_MEAN = 2 / 7  # of Beta(2, 5): skewed, as per-user metrics are


def bounds(values: Floats, seed: int) -> tuple[float, float]:
    found = bootstrap_interval(values, resamples=RESAMPLES, seed=seed)
    return found.low, found.high


def one_tail_forgotten(values: Floats, seed: int) -> tuple[float, float]:
    found = bootstrap_interval(values, level=0.9, resamples=RESAMPLES, seed=seed)
    return found.low, found.high


def spread_of_users(values: Floats, seed: int) -> tuple[float, float]:
    reach = 1.96 * values.std()  # the standard deviation where the standard error is meant
    return values.mean() - reach, values.mean() + reach


def covers_as_promised(method: Callable[[Floats, int], tuple[float, float]]) -> bool:
    """Whether the share of intervals that hold the mean is within four standard errors of the level."""
    rng = np.random.default_rng(2021)
    held = 0
    for sample in range(SAMPLES):
        low, high = method(rng.beta(2, 5, USERS), sample)
        held += low <= TRUE_MEAN <= high
    # a percentile interval of 200 users uses z for t and n for n - 1: it covers about 0.4 % less than promised
    tolerance = 4 * math.sqrt(LEVEL * (1 - LEVEL) / SAMPLES) + 0.004
    return abs(held / SAMPLES - LEVEL) <= tolerance


def test_the_bootstrap_interval_covers_as_promised() -> None:
    assert covers_as_promised(bounds)


@pytest.mark.parametrize("impostor", [one_tail_forgotten, spread_of_users])
def test_an_impostor_is_rejected(impostor: Callable[[Floats, int], tuple[float, float]]) -> None:
    assert not covers_as_promised(impostor)


# --- seeds ---


def test_seed_interval_by_hand_and_against_scipy() -> None:
    # 1, 2, 3: mean 2, s = 1, t(2) at 97.5 % = 4.30265
    found = seed_interval([1.0, 2.0, 3.0])
    assert (found.mean, found.low, found.high) == pytest.approx(
        (2.0, 2 - 4.302652729911275 / math.sqrt(3), 2 + 4.302652729911275 / math.sqrt(3))
    )
    values = np.random.default_rng(1).normal(3, 0.2, 6)
    low, high = stats.t.interval(0.9, 5, loc=values.mean(), scale=stats.sem(values))
    found = seed_interval(values.tolist(), level=0.9)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_seed_has_no_interval() -> None:
    found = seed_interval([0.3])
    assert found.mean == 0.3
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_an_impossible_level_is_refused(level: float) -> None:
    with pytest.raises(SettingError, match=r"between 0 and 1, but is .*; try 0.95"):
        seed_interval([1.0, 2.0], level=level)


def test_no_resamples_are_refused() -> None:
    with pytest.raises(SettingError, match="1 or more, but is 0"):
        bootstrap_interval(np.ones(3), resamples=0)
