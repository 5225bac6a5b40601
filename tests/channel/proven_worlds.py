"""Small circuits of every kind with valid vectors, and what attackers of them need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Longs
from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.exact_items import CountedItems, PairedItems
from murmura.kernels.proofs.field import MODULUS, Elements
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.weighted_items import WeightedCounts, WeightedPairs

ITEMS, RANKS, CAP, LARGEST, HEAVIEST = 17, 11, 6, 1 << 10, 300
KINDS = ("counts", "pairs", "weighted counts", "weighted pairs")


def drawn(rng: np.random.Generator, count: int) -> Elements:
    return rng.integers(0, MODULUS, count, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class World:
    """A circuit, and a way to a valid vector of it."""

    circuit: ProvenVector
    vector: Callable[[Sequence[Longs]], Elements]
    places: int  # of items, of which each person may hold some
    people: int

    def histories(self, rng: np.random.Generator, sizes: Sequence[int] | None = None) -> list[Longs]:
        sizes = [int(rng.integers(1, CAP + 1)) for _ in range(self.people)] if sizes is None else sizes
        return [np.sort(rng.permutation(self.places)[:size]).astype(np.int64) for size in sizes]

    def valid(self, rng: np.random.Generator) -> Elements:
        return self.vector(self.histories(rng))


def world(kind: str, people: int, rng: np.random.Generator) -> World:
    """Bounds of several widths, so that there are several classes and words that straddle the diagonal."""
    bounds = np.sort(
        np.concatenate([rng.integers(5, 30, RANKS // 2), rng.integers(1 << 18, 1 << 24, RANKS - RANKS // 2)])
    )
    counted = CountedItems(ITEMS, people, CAP)
    if kind == "counts":
        return World(counted, counted.vector, ITEMS, people)
    if kind == "pairs":
        paired = PairedItems(counted, rng.permutation(ITEMS)[:RANKS].astype(np.int64), PairWords(bounds))
        return World(paired, paired.vector, ITEMS, people)
    if kind == "weighted counts":
        weighted = WeightedCounts(ITEMS, people, LARGEST)
        return World(weighted, weighted.vector, ITEMS, people)
    words = PairWords(np.full(RANKS, 2 * 100 * LARGEST, np.int64), diagonal=True)
    pairs = WeightedPairs(people, LARGEST, HEAVIEST, words)
    return World(pairs, pairs.vector, RANKS, people)


def worlds(rng: np.random.Generator) -> Iterator[World]:
    for kind in KINDS:
        for people in (1, 3):
            yield world(kind, people, rng)
