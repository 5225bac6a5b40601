"""What one person's scores are sums of, where a method ranks by a sum: the reasons it can give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class ScoreTerms:
    """Terms that add up to the scores of all items: those of features of items first, then what else counts."""

    names: tuple[str, ...]  # (terms,) what a person reads
    gain: Floats  # (features,) how much each tells about what she chooses
    values: Floats  # (terms, items) what each adds to the score of every item; 0 where it says nothing
    own: Ints | None = None  # (terms,) the own item each term is of; None: they are of something else

    @staticmethod
    def of_items(own: Ints, labels: NDArray[Any], values: Floats) -> ScoreTerms:
        """What each own item adds to the scores; until somebody names them, they have their labels."""
        return ScoreTerms(tuple(map(str, labels[own].tolist())), np.zeros(0), values, own)

    @staticmethod
    def of_popularity(counts: NDArray[Any]) -> ScoreTerms:
        """Of whom nothing is known: how often each item occurs is all there is to say."""
        return ScoreTerms(("how many have it",), np.zeros(0), np.asarray(counts, np.float64)[None, :])

    def named(self, name: Callable[[int], str]) -> ScoreTerms:
        """The same with the names of the own items that terms are of."""
        return self if self.own is None else replace(self, names=tuple(map(name, self.own.tolist())))

    @property
    def features(self) -> int:
        """How many of the terms, the first ones, are features of items."""
        return len(self.gain)

    @cached_property
    def scores(self) -> Floats:
        """The terms added up, one after the other."""
        total: Floats = np.zeros(self.values.shape[1])
        for values in self.values:
            total += values
        return total

    def of(self, item: int) -> Ints:
        """The terms of one item, the most informative feature first, then the largest of what is none."""
        here = np.flatnonzero(self.values[:, item])
        known, other = here[here < self.features], here[here >= self.features]
        order = np.lexsort((known, -self.gain[known]))
        largest = np.lexsort((other, -np.abs(self.values[other, item])))
        return np.concatenate([known[order], other[largest]]).astype(np.int32)

    def drops(self, item: int, term: int, offered: Ints, k: int) -> bool:
        """Whether an item leaves the first k of what is on offer when a term is taken from every score.

        Ties go to the lower number, as in every list.
        """
        left = (self.scores - self.values[term])[offered]
        own = left[np.searchsorted(offered, item)]
        before = (left > own) | ((left == own) & (offered < item))
        return int(before.sum()) >= k
