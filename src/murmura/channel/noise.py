"""Discrete Gaussian noise, drawn without rounding errors. Canonne, Kamath and Steinke: The discrete Gaussian
for differential privacy (NeurIPS 2020), algorithms 1 to 3, for many numbers at once.

Every decision compares whole numbers, so the distribution is the stated one to the last bit: P(x) is in
proportion to exp(-x^2 / (2 sigma^2)). Randomness is bytes from whoever asks for noise: an aggregator's own
system, or the seed of a simulation, which protects nobody.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from murmura.channel.shares import Entropy
from murmura.core.arrays import Bools, Longs

NoiseSource = Callable[[str, str, int], Entropy]  # of an aggregator's role, a phase and a round
SMALLEST, LARGEST = 16, 1 << 13  # of sigma, in steps: below, discrete is not Gaussian; above, squares overflow
FARTHEST = 17  # sigma: the noise of two aggregators in one number is not farther from 0, but for 1e-32


def system_noise(role: str, phase: str, round: int) -> Entropy:
    """What every real aggregator draws noise from: its system."""
    return os.urandom


def simulated_noise(seed: int) -> NoiseSource:
    """The noise of a simulation, the same for the same seed: it shows what noise costs and protects nobody."""

    def source(role: str, phase: str, round: int) -> Entropy:
        name = hashlib.sha256(f"murmura simulated noise {seed} {role} {phase} {round}".encode()).digest()
        return np.random.Generator(np.random.Philox(key=np.frombuffer(name[:16], "<u8"))).bytes

    return source


def discrete_gaussian(sigma: int, size: int, entropy: Entropy = os.urandom) -> Longs:
    """So many independent draws of mean 0 and (all but) variance sigma^2."""
    if not 1 <= sigma <= LARGEST:
        raise ValueError(f"sigma must be from 1 to {LARGEST} steps, but is {sigma}.")
    scale, drawn = sigma + 1, np.empty(size, np.int64)
    todo = np.arange(size)
    while len(todo):
        proposed = _discrete_laplace(scale, len(todo), entropy)
        away = np.abs(proposed) * scale - sigma**2
        # beyond, a proposal is taken with a probability below e^-400; the square would not fit
        near = np.abs(proposed) < 30 * scale
        taken = np.zeros(len(todo), np.bool_)
        taken[near] = _exponential_coins(away[near] ** 2, 2 * sigma**2 * scale**2, entropy)
        drawn[todo[taken]] = proposed[taken]
        todo = todo[~taken]
    return drawn


def _discrete_laplace(scale: int, size: int, entropy: Entropy) -> Longs:
    """P(x) in proportion to exp(-|x| / scale)."""
    drawn = np.empty(size, np.int64)
    todo = np.arange(size)
    while len(todo):
        rest = _below(np.full(len(todo), scale, np.uint64), entropy)
        kept = _exponential_coins(rest, scale, entropy)
        where, rest = todo[kept], rest[kept]
        magnitude = rest + scale * _geometric(len(where), entropy)
        negative = _below(np.full(len(where), 2, np.uint64), entropy) == 1
        valid = ~(negative & (magnitude == 0))  # zero has one sign
        drawn[where[valid]] = np.where(negative, -magnitude, magnitude)[valid]
        todo = np.concatenate([todo[~kept], where[~valid]])
    return drawn


def _geometric(size: int, entropy: Entropy) -> Longs:
    """How many coins of probability 1/e came up before the first that did not."""
    count = np.zeros(size, np.int64)
    alive = np.arange(size)
    while len(alive):
        alive = alive[_exponential_coins(np.ones(len(alive), np.int64), 1, entropy)]
        count[alive] += 1
    return count


def _exponential_coins(numerator: Longs, denominator: int, entropy: Entropy) -> Bools:
    """A coin of probability exp(-numerator / denominator) for each."""
    whole, rest = numerator // denominator, numerator % denominator
    heads = _small_exponential_coins(rest, denominator, entropy)
    alive = np.flatnonzero(heads & (whole > 0))
    for passed in range(int(whole[alive].max(initial=0))):
        alive = alive[whole[alive] > passed]
        if not len(alive):
            break
        kept = _small_exponential_coins(np.ones(len(alive), np.int64), 1, entropy)
        heads[alive[~kept]] = False
        alive = alive[kept]
    return heads


def _small_exponential_coins(numerator: Longs, denominator: int, entropy: Entropy) -> Bools:
    """The same for exponents from 0 to 1: count k up while a coin of probability x / k shows heads; k odd."""
    k = np.ones(len(numerator), np.int64)
    alive = np.arange(len(numerator))
    while len(alive):
        limit = (denominator * k[alive]).astype(np.uint64)
        alive = alive[_below(limit, entropy) < numerator[alive]]
        k[alive] += 1
    heads: Bools = k % 2 == 1
    return heads


def _below(limit: NDArray[np.uint64], entropy: Entropy) -> Longs:
    """A uniform whole number below each limit, all limits above 0 and far below 2**64."""
    drawn = np.empty(len(limit), np.int64)
    todo = np.arange(len(limit))
    fair = np.uint64(2**64 - 1) // limit * limit  # beyond, the smaller remainders would come too often
    while len(todo):
        words = np.frombuffer(entropy(8 * len(todo)), "<u8")
        good = words < fair[todo]
        drawn[todo[good]] = (words[good] % limit[todo[good]]).astype(np.int64)
        todo = todo[~good]
    return drawn
