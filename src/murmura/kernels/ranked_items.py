"""Which items take part in pairs, by rank: ascending by how often each occurs, ties by number.

Once it is public how often each item occurs, no pair can occur more often than the rarer of its two items. So
everybody works out the same places of all counters from the counts alone (`proofs.pair_words`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmura.core.arrays import Ints, Longs
from murmura.kernels.proofs.pair_words import PairWords


@dataclass(frozen=True, eq=False)
class RankedItems:
    """The items that take part, by rank, and where the counters of their pairs stand."""

    items: Ints  # (n,)
    counts: Longs  # (n,) how often each occurs, ascending

    @staticmethod
    def of(counts: Longs, least: int) -> RankedItems:
        """Of the items that occur at least so often; `counts` is of all items."""
        there = np.flatnonzero(counts >= max(1, least))
        order = np.lexsort((there, counts[there]))
        return RankedItems(there[order].astype(np.int32), counts[there[order]].astype(np.int64))

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def pairs(self) -> PairWords:
        """The words of all pairs."""
        return PairWords(self.counts)

    @cached_property
    def ranks(self) -> Ints:
        """(largest item + 1,) the rank of every item, -1 where it takes no part."""
        ranks = np.full(int(self.items.max(initial=-1)) + 1, -1, np.int32)
        ranks[self.items] = np.arange(len(self), dtype=np.int32)
        return ranks

    def own_ranks(self, own: Ints) -> Ints:
        """The ranks of someone's items, ascending."""
        ranks = self.ranks[own[own < len(self.ranks)]]
        return np.sort(ranks[ranks >= 0])

    def rows_of(self, part: int, parts: int) -> tuple[int, int]:
        """The ranks whose words are one of so many parts, of about as many words each: first, and last + 1."""
        n = len(self)
        cuts = [self.pairs.words * number // parts for number in (part, part + 1)]
        first, last = np.searchsorted(self.pairs.places.start, cuts).tolist()
        return first, n if part == parts - 1 else last

    def words_of(self, part: int, parts: int) -> slice:
        """Where the words of a part stand."""
        ends = np.append(self.pairs.places.start, self.pairs.words)
        first, last = self.rows_of(part, parts)
        return slice(int(ends[first]), int(ends[last]))
