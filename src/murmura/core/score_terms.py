"""What one person's scores are sums of, where a method ranks by a sum: the reasons it can give."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmura.core.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class ScoreTerms:
    """Terms that add up to the scores of all items: those of features of items first, then what else counts."""

    names: tuple[str, ...]  # (terms,) what a person reads
    gain: Floats  # (features,) how much each tells about what she chooses
    values: Floats  # (terms, items) what each adds to the score of every item; 0 where it says nothing

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
        """The terms of one item, the most informative feature first, then what is not a feature."""
        here = np.flatnonzero(self.values[:, item])
        known = here[here < self.features]
        order = np.lexsort((known, -self.gain[known]))
        return np.concatenate([known[order], here[here >= self.features]]).astype(np.int32)

    def drops(self, item: int, term: int, offered: Ints, k: int) -> bool:
        """Whether an item leaves the first k of what is on offer when a term is taken from every score.

        Ties go to the lower number, as in every list.
        """
        left = (self.scores - self.values[term])[offered]
        own = left[np.searchsorted(offered, item)]
        before = (left > own) | ((left == own) & (offered < item))
        return int(before.sum()) >= k
