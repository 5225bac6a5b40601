"""Canaries bound epsilon from below: never above the claim, and above it where noise is too small."""

import math
from typing import Any

import numpy as np
import pytest

from murmura.channel.noise import discrete_gaussian
from murmura.channel.noise_terms import epsilon_of, mu_of
from murmura.channel.rounded_chain import RoundedChain
from murmura.core.arrays import Longs
from murmura.core.errors import DataError, SettingError
from murmura.data.sources.synthetic import synth
from murmura.lab.audits.sums.canaries import CanaryScores, canary_scores, guess_coins, least_epsilon, surprise
from murmura.runtimes.simulation import simulated

DATA = synth(users=200, items=120, interactions=4000, seed=2).interactions
EPSILON, DELTA = 4.0, 1e-6


def gaussian(sigma: int, canaries: int, seed: int) -> CanaryScores:
    """Every canary adds 1,000 to a number of its own; discrete Gaussian noise is all that hides it."""
    random = np.random.default_rng(seed)
    coins = random.random(canaries) < 0.5
    released = 1000 * coins + discrete_gaussian(sigma, canaries, random.bytes)
    return guess_coins(released.astype(np.float64), coins, DELTA, EPSILON)


@pytest.mark.slow
def test_the_bound_never_exceeds_the_claim_and_finds_half_the_noise() -> None:
    sigma = math.ceil(1000 / mu_of(EPSILON, DELTA))
    honest = [gaussian(sigma, 100_000, seed).at_least for seed in range(4)]
    halved = [gaussian(sigma // 2, 100_000, seed).at_least for seed in range(4)]
    assert max(honest) < EPSILON
    assert min(honest) > 1  # it does find something
    assert min(halved) > EPSILON
    assert max(halved) < epsilon_of(2 * mu_of(EPSILON, DELTA), DELTA)  # and no more than there is


def test_whoever_guesses_blindly_proves_nothing() -> None:
    random = np.random.default_rng(1)
    found = [
        guess_coins(random.random(2000), random.random(2000) < 0.5, DELTA, None).at_least for _ in range(40)
    ]
    # each is above 0 with a chance of 5 % at most: more than 8 of 40 has one below 1e-3
    assert sum(one > 0 for one in found) <= 8
    assert max(found) < 0.6


def test_the_chance_of_right_guesses_by_hand() -> None:
    # epsilon 0 and delta 0: a fair coin each
    assert surprise(10, 3, 3, 0.0, 0.0) == pytest.approx(1 / 8)
    assert surprise(10, 3, 0, 0.0, 0.0) == 1
    # three of four at q = e / (1 + e): 4 q^3 (1 - q) + q^4
    q = math.e / (1 + math.e)
    assert surprise(4, 4, 3, 1.0, 0.0) == pytest.approx(4 * q**3 * (1 - q) + q**4)
    # delta adds 2 m delta max_i P[v - i <= X < v] / i: here i = 1, P[X = 2] = 6 q^2 (1 - q)^2
    two, one = 6 * q**2 * (1 - q) ** 2, 4 * q * (1 - q) ** 3
    most = max(two, (two + one) / 2, (two + one + (1 - q) ** 4) / 3)
    assert surprise(4, 4, 3, 1.0, 0.01) == pytest.approx(4 * q**3 * (1 - q) + q**4 + 8 * 0.01 * most)
    # all r right: q^r = chance
    r, chance = 100, 0.05
    q = chance ** (1 / r)
    assert least_epsilon(r, r, r, 0.0, chance) == pytest.approx(math.log(q / (1 - q)), abs=1e-6)
    assert least_epsilon(r, r, r // 2, 0.0, chance) == 0


def test_trainings_are_pooled() -> None:
    one, two = gaussian(1000, 500, 0), gaussian(1000, 500, 1)
    both = one + two
    assert both.canaries == 1000
    assert both.guesses == tuple(2 * n for n in one.guesses)
    assert both.right == tuple(a + b for a, b in zip(one.right, two.right))


@pytest.mark.parametrize(
    ("guesses", "right", "delta", "chance"),
    [(11, 3, 0.0, 0.05), (5, 6, 0.0, 0.05), (5, 3, 1.0, 0.05), (5, 3, -1e-9, 0.05), (5, 3, 0.0, 0.0)],
)
def test_impossible_guesses_are_refused(guesses: int, right: int, delta: float, chance: float) -> None:
    with pytest.raises(DataError, match="cannot be"):
        least_epsilon(10, guesses, right, delta, chance)
    with pytest.raises(DataError, match="two or more canaries"):
        guess_coins(np.zeros(3), np.zeros(4, np.bool_), 0.0, None)


SMALL: dict[str, Any] = {"channel": "secure-sum", "minimum_cohort": 1, "hopeless": True}
PRESETS: dict[str, dict[str, Any]] = {
    "cfpl": {"clients": 50, "rounds": 12, "factors": 8, **SMALL},
    "fcf": {"clients": 50, "rounds": 6, "factors": 8, **SMALL},
    "fed-ease": {**SMALL, "minimum_cohort": 1},
}


@pytest.mark.parametrize("model", list(PRESETS))
def test_a_training_keeps_its_claim_and_one_without_noise_is_found_out(model: str) -> None:
    found = canary_scores(simulated(model, {**PRESETS[model], "epsilon": 2.0}), DATA, 0)
    assert found.claimed == 2.0
    assert found.canaries > 100
    assert found.at_least < 2.0


def test_a_training_whose_noise_the_test_takes_away_breaks_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = simulated("fcf", {**PRESETS["fcf"], "epsilon": 2.0})
    whole = RoundedChain.noise

    def tenth(self: RoundedChain, entropy: Any) -> Longs:
        return whole(self, entropy) // 10

    monkeypatch.setattr(RoundedChain, "noise", tenth)
    assert canary_scores(ready, DATA, 0).at_least > 2.0


def test_without_noise_every_canary_is_seen() -> None:
    found = canary_scores(simulated("fcf", PRESETS["fcf"]), DATA, 0)
    assert found.right == found.guesses or found.right[0] == found.guesses[0]
    assert found.claimed is None
    assert found.at_least > 3


def test_what_cannot_have_canaries_is_refused() -> None:
    with pytest.raises(SettingError, match=r"channel=secure-sum"):
        canary_scores(simulated("fcf", {"rounds": 2}), DATA, 0)
    with pytest.raises(SettingError, match="as_if is set"):
        canary_scores(simulated("fcf", {**PRESETS["fcf"], "epsilon": 2.0, "as_if": 10_000}), DATA, 0)
