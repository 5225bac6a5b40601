"""The trust region of sums: what false histories leave in them, and how much of a row is believed. Ours.

A row of pairs over its item's count says how often others occur with it. That of a popular item can be copied
into false histories of another one. Items that the same people like have equal rows as well, but occur together
more often than by chance; a copy does not. With p and q the shares of the others and c and d the counts, two
samples of one population differ by the sum of p (1 - p) / c + q (1 - q) / d on average.

Each row is believed in part. A count that leapt is taken as what was expected of it, so its row is shrunk to
that; the next release expects what it is now. Of two rows that look copied the rarer item's is left out.
"""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats, Ints, Longs

MANY = 50  # owners: the rows of rarer items say too little
LEAP, TIMES = 6.0, 2.0  # deviations by which a count has grown, and to how many times what was expected
BLOCK = 512  # rows compared at once


def leaps(before: Longs | Floats, after: Longs | Floats, growth: float, noise: float = 0.0) -> Ints:
    """Items whose count grew by far more than everybody's.

    `growth` is that of the number of people, `noise` the standard deviation of what noise adds to a count.
    """
    expected = before * growth
    spread = np.sqrt(expected + 1 + 2 * noise**2)
    return np.flatnonzero((after - expected > LEAP * spread) & (after > TIMES * expected)).astype(np.int32)


def believed(before: Longs | Floats, after: Longs | Floats, growth: float, noise: float = 0.0) -> Floats:
    """(items,) the part of each count that is believed: of one that leapt what was expected of it."""
    part: Floats = np.ones(len(after))
    leapt = leaps(before, after, growth, noise)
    part[leapt] = before[leapt] * growth / after[leapt]
    return part


def leap_sentences(leapt: Ints, before: Longs | Floats, after: Longs | Floats) -> list[str]:
    """For people, a clause for each item."""
    return [f"item {item} grew from {before[item]:g} to {after[item]:g} owners" for item in leapt.tolist()]


def alarm_sentence(found: list[str], bounded: bool = True) -> str:
    """The first of these clauses, and what was done about them; "" where there is none."""
    if not found:
        return ""
    more = f", and {len(found) - 1} more like it" if len(found) > 1 else ""
    done = "this release shrinks such rows" if bounded else "nothing is changed"
    return f"{found[0]}{more}: false histories look like this; {done}"


def shrink_pairs(G: Floats, part: Floats) -> None:
    """Believe rows and columns in part, in place: what was positive semi-definite stays so."""
    if (part < 1).any():
        G *= np.sqrt(part)
        G *= np.sqrt(part)[:, None]


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
