"""How often two items occur together, for all pairs, in packed counters that sums cannot overflow.

Once it is public how often each item occurs, no pair can occur more often than the rarer of its two items, c.
Its counter needs bit_length(c) bits, so floor(32 / bits) counters share a 32-bit word, and adding words adds
all of them at once: exactly, and without a carry from one counter into the next.

Items that take part are ranked by count, ties by number, so the bits of a pair are those of its lower rank.
Ranks of equal bits make a block; its counters stand in words one after the other, row by row of the upper
triangle. Everybody works the same places out from the counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.errors import FederationError
from murmura.core.rng import Words
from murmura.kernels.compiled import compiled

WORD = 32  # bits
Table = TypeVar("Table", bound=NDArray[Any])  # (n, n) of any kind of numbers


@dataclass(frozen=True, eq=False)
class PackedPairs:
    """Where the counter of every pair stands."""

    items: Ints  # (n,) the items that take part, by rank
    counts: Longs  # (n,) how often each occurs, ascending

    @staticmethod
    def of(counts: Longs, least: int) -> PackedPairs:
        """Of the items that occur at least so often; `counts` is of all items."""
        there = np.flatnonzero(counts >= max(1, least))
        order = np.lexsort((there, counts[there]))
        return PackedPairs(there[order].astype(np.int32), counts[there[order]].astype(np.int64))

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def ranks(self) -> Ints:
        """(largest item + 1,) the rank of every item, -1 where it takes no part."""
        ranks = np.full(int(self.items.max(initial=-1)) + 1, -1, np.int32)
        ranks[self.items] = np.arange(len(self), dtype=np.int32)
        return ranks

    @cached_property
    def bits(self) -> Longs:
        """(n,) of the counters in the row of each rank."""
        return np.frexp(self.counts.astype(np.float64))[1].astype(np.int64)  # exact below 2**53

    @cached_property
    def _row(self) -> Longs:
        """(n,) how many counters stand before the row of each rank, whatever their bits."""
        rank = np.arange(len(self), dtype=np.int64)
        return rank * (len(self) - 1) - rank * (rank - 1) // 2

    @cached_property
    def _blocks(self) -> tuple[Longs, Longs]:
        """(n,) the first counter of the block of each rank, and the word where that block begins."""
        if not len(self):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        begins = np.flatnonzero(np.diff(self.bits, prepend=0))
        ends = np.append(self._row, len(self) * (len(self) - 1) // 2)[np.append(begins[1:], len(self))]
        words = -(-(ends - self._row[begins]) // (WORD // self.bits[begins]))
        first = np.cumsum(words) - words
        block = np.searchsorted(begins, np.arange(len(self)), "right") - 1
        return self._row[begins][block], first[block]

    @cached_property
    def words(self) -> int:
        """The length of the packed vector."""
        if len(self) < 2:
            return 0
        first, base = self._blocks
        last = len(self) - 1  # its row is empty: it ends the last block
        return int(base[last] - (-(self._row[last] - first[last]) // (WORD // self.bits[last])))

    @cached_property
    def places(self) -> tuple[Longs, Longs, Longs]:
        """For compiled loops, by lower rank a: the pair (a, b) is counter place[a] + b of its block.

        place, the word where the block begins, and the bits.
        """
        first, base = self._blocks
        return self._row - first - np.arange(len(self)) - 1, base, self.bits

    @cached_property
    def bounds(self) -> Words:
        """(words,) the largest sum of every word: no counter is above the count of its rarer item."""
        return self.pack_sums(np.broadcast_to(self.counts[:, None], (len(self), len(self))))

    def pack(self, own: Ints) -> Words:
        """One person's pairs of items, as words; items that take no part are left out."""
        words: Words = np.zeros(self.words, np.uint32)
        place, base, bits = self.places
        mine = self.own_ranks(own)
        for at, rank in enumerate(mine.tolist()):
            counter, width = place[rank] + mine[at + 1 :], int(bits[rank])
            each = WORD // width
            np.add.at(words, base[rank] + counter // each, (1 << (width * (counter % each))).astype(np.uint32))
        return words

    def pack_sums(self, G: NDArray[Any]) -> Words:
        """The words of sums of pairs, (n, n) by rank: what `unpack` takes apart."""
        words: Words = np.zeros(self.words, np.uint32)
        _pack_sums(G, *self.places, words)
        return words

    def cut(self, words: Words) -> int:
        """Cut sums, in place, to what is possible: no pair occurs more often than its rarer item.

        How many counters were cut, or words that held more than their counters.
        """
        used = np.int64(1) << np.frexp(self.bounds.astype(np.float64))[1].astype(np.int64)
        more = np.flatnonzero(words >= used)
        words[more] %= used[more].astype(np.uint64)
        return len(more) + int(cut_pairs(words, self.counts, *self.places))

    def own_ranks(self, own: Ints) -> Ints:
        """The ranks of someone's items, ascending."""
        ranks = self.ranks[own[own < len(self.ranks)]]
        return np.sort(ranks[ranks >= 0])

    def unpack(self, words: Words) -> Floats:
        """(n, n) how often each pair occurs, by rank, zero on the diagonal; refuses the impossible."""
        G: Floats = np.zeros((len(self), len(self)))
        return self.unpack_into(G, words, np.arange(len(self), dtype=np.int32))

    def unpack_into(
        self, G: Table, words: Words, at: Ints, ends: Longs | None = None, scale: Floats | None = None
    ) -> Table:
        """Fill G with how often each pair occurs: rank a in row at[a], -1 for none; refuses the impossible.

        Counts in the words before ends[0] are multiplied by scale[0], those before ends[1] by scale[1] and so
        on; by default all stay as they are. Nothing but G is made: it may be as large as the memory allows.
        """
        ends = np.array([self.words], np.int64) if ends is None else ends
        scale = np.ones(len(ends)) if scale is None else scale
        rank, found = unpack_pairs(words, self.counts, *self.places, at, ends, scale, G)
        if rank >= 0:
            raise FederationError(
                f"a pair of item {int(self.items[rank])} must occur at most {int(self.counts[rank])} times, as "
                f"often as the item, but is counted {found} times; a device broke the rules; discard the round."
            )
        return G


@compiled
def _pack_sums(G: Table, place: Longs, base: Longs, bits: Longs, words: Words) -> None:
    for a in range(len(G) - 1):
        each = 32 // bits[a]
        for b in range(a + 1, len(G)):
            counter = place[a] + b
            words[base[a] + counter // each] += np.uint32(np.int64(G[a, b]) << (bits[a] * (counter % each)))


@compiled
def add_pairs(
    first: int, last: int, start: Longs, rank: Ints, place: Longs, base: Longs, bits: Longs, total: Longs
) -> None:
    """Add the words of people first .. last - 1; u holds the ascending ranks start[u] to start[u + 1]."""
    for client in range(first, last):
        end = start[client + 1]
        for at in range(start[client], end):
            a = rank[at]
            each, width = 32 // bits[a], bits[a]
            for other in range(at + 1, end):
                counter = place[a] + rank[other]
                total[base[a] + counter // each] += np.int64(1) << (width * (counter % each))


@compiled
def cut_pairs(words: Words, counts: Longs, place: Longs, base: Longs, bits: Longs) -> int:
    """Cut every counter to its count; how many were above."""
    n, above = len(counts), 0
    for a in range(n - 1):
        each, width = 32 // bits[a], bits[a]
        mask = (np.int64(1) << width) - 1
        for b in range(a + 1, n):
            counter = place[a] + b
            word, shift = base[a] + counter // each, width * (counter % each)
            found = (np.int64(words[word]) >> shift) & mask
            if found > counts[a]:
                words[word] -= np.uint32((found - counts[a]) << shift)
                above += 1
    return above


@compiled
def unpack_pairs(
    words: Words,
    counts: Longs,
    place: Longs,
    base: Longs,
    bits: Longs,
    at: Ints,
    ends: Longs,
    scale: Floats,
    G: Table,
) -> tuple[int, int]:
    """Fill G; the first rank with a counter above its count, and that counter, or -1."""
    n, part = len(counts), 0
    for a in range(n - 1):
        each, width = 32 // bits[a], bits[a]
        mask = (np.int64(1) << width) - 1
        for b in range(a + 1, n):
            counter = place[a] + b
            word = base[a] + counter // each  # never before the one of the pair before
            while word >= ends[part]:
                part += 1
            found = (np.int64(words[word]) >> (width * (counter % each))) & mask
            if found > counts[a]:
                return a, found
            if at[a] >= 0 and at[b] >= 0:
                G[at[a], at[b]] = G[at[b], at[a]] = found * scale[part]
    return -1, 0
