"""What false histories leave in released sums: counts that leap, and two items with equal rows. Ours.

A row of pairs over its item's count says how often others occur with it. That of a popular item can be copied
into false histories of another one. Items that the same people like have equal rows as well, but occur together
more often than by chance; a copy does not. With p and q the shares of the others and c and d the counts, two
samples of one population differ by the sum of p (1 - p) / c + q (1 - q) / d on average.
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats, Ints, Longs

MANY = 50  # owners: the rows of rarer items say too little
LEAP, TIMES = 6.0, 2.0  # deviations by which a count has grown, and to how many times what was expected
BLOCK = 512  # rows compared at once


def leaps(before: Longs, after: Longs, growth: float) -> Ints:
    """Items whose count grew by far more than everybody's; `growth`: of the number of people."""
    expected = before * growth
    grown = (after - expected > LEAP * np.sqrt(expected + 1)) & (after > TIMES * expected)
    return np.flatnonzero(grown).astype(np.int32)


def copies(G: Floats, counts: Longs, people: int) -> list[tuple[int, int]]:
    """Pairs of places with rows that are equal within their noise, which occur together no more than by chance.

    G: (n, n) how often two occur together, zeros on its diagonal.
    """
    many = np.flatnonzero(counts >= MANY)
    own = counts[many].astype(np.float32)
    P = G[many].astype(np.float32) / own[:, None]  # (many, n)
    square, spread = (P**2).sum(axis=1), (P * (1 - P)).sum(axis=1) / own
    found = list[tuple[int, int]]()
    for first in range(0, len(many), BLOCK):
        here = slice(first, first + BLOCK)
        apart = square[here, None] + square - 2 * P[here] @ P.T
        apart -= P[here][:, many] ** 2 + P[:, many[here]].T ** 2  # the two items themselves
        chance = np.outer(own[here], own[:, None]) / people
        equal = (apart < spread[here, None] + spread) & (G[np.ix_(many[here], many)] < chance)
        found += [(int(many[first + a]), int(many[b])) for a, b in np.argwhere(equal) if first + a < b]
    return found
