"""Steinke, Nasr and Jagielski: Privacy auditing with one (1) training run (NeurIPS 2023).

Canaries are put in, or left out, by a fair coin each; who sees only what is released guesses the coins, or says
nothing about some. Under (epsilon, delta)-differential privacy so many right guesses are that unlikely
(theorem 5.2 of the paper, and its appendix D); the largest epsilon under which they would be a surprise is a
lower bound on what was really revealed, from one training alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from murmura.core.arrays import Bools, Floats
from murmura.core.contract import Algorithm
from murmura.core.errors import DataError
from murmura.lab.audits.attack import Attack

LEVEL = 0.95
SHARES = (0.02, 0.1, 1.0)  # of the canaries guesses are made about: the surest; all of them are paid for
_STEPS = 40  # halvings of an interval


@dataclass(frozen=True)
class CanaryScores:
    """What guesses about the canaries of one training, or of several, prove."""

    canaries: int
    guesses: tuple[int, ...]  # for each of SHARES
    right: tuple[int, ...]
    delta: float
    claimed: float | None  # the epsilon that is promised; None: none is

    @property
    def at_least(self) -> float:
        """epsilon is no smaller than this, at LEVEL: the best of the shares, each at its part of the chance."""
        chance = (1 - LEVEL) / len(SHARES)
        each = (
            least_epsilon(self.canaries, n, right, self.delta, chance)
            for n, right in zip(self.guesses, self.right)
        )
        return max(each)

    def __add__(self, other: CanaryScores) -> CanaryScores:
        """Of independent trainings together."""
        return CanaryScores(
            self.canaries + other.canaries,
            tuple(a + b for a, b in zip(self.guesses, other.guesses)),
            tuple(a + b for a, b in zip(self.right, other.right)),
            self.delta,
            self.claimed,
        )


class CanaryAudit(Attack):
    """Canaries in the sums of a training: how large epsilon must be, at least."""

    name: ClassVar[str] = "canaries"
    title: ClassVar[str] = "uploads put in by coins; all others and one aggregator's noise are known"
    reads: ClassVar[Literal["updates", "sums"]] = "sums"

    def fits(self, algorithm: Algorithm) -> bool:
        """Whatever sends nothing but sums of real numbers."""
        from murmura.lab.audits.sums.observed import tiny_phases

        phases = tiny_phases(algorithm)
        return bool(phases) and all(p.combine == "sum" and not p.sends.exact_tables for p in phases)


def guess_coins(scores: Floats, coins: Bools, delta: float, claimed: float | None) -> CanaryScores:
    """Guesses by scores, higher: rather in; in for the highest half of a share, out for the lowest."""
    if scores.shape != coins.shape or scores.ndim != 1 or len(scores) < 2:
        raise DataError(
            f"guesses must be about two or more canaries with a score each, but there are {scores.shape} "
            f"scores for {coins.shape} coins."
        )
    order, guesses, right = np.argsort(scores, kind="stable"), [], []
    for share in SHARES:
        half = max(1, int(share * len(scores) / 2))
        guesses.append(2 * half)
        right.append(int(coins[order[-half:]].sum() + (~coins[order[:half]]).sum()))
    return CanaryScores(len(scores), tuple(guesses), tuple(right), delta, claimed)


def surprise(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The chance of so many right guesses, at most, if a training is (epsilon, delta)-private."""
    from scipy.stats import binom

    q = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, q))
    below = binom.pmf(np.arange(right - 1, -1, -1), guesses, q)
    steepest = float((np.cumsum(below) / np.arange(1, right + 1)).max()) if right else 0.0
    return min(1.0, tail + 2 * canaries * delta * steepest)


def least_epsilon(canaries: int, guesses: int, right: int, delta: float, chance: float) -> float:
    """The largest epsilon under which so many right guesses have less than this chance; 0: none has."""
    if not 0 <= right <= guesses <= canaries or not 0 <= delta < 1 or not 0 < chance < 1:
        raise DataError(
            f"of {canaries} canaries {guesses} guesses with {right} right, delta {delta} and chance {chance} "
            "cannot be; guesses are of canaries, delta and chance below 1."
        )
    if surprise(canaries, guesses, right, 0.0, delta) >= chance:
        return 0.0
    low, high = 0.0, 1.0
    while surprise(canaries, guesses, right, high, delta) < chance:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if surprise(canaries, guesses, right, middle, delta) < chance:
            low = middle
        else:
            high = middle
    return low
