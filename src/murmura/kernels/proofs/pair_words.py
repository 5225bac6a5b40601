"""Where the counters of pairs stand in words of the field: k counters to a word, to the base B.

Items are ranked by an upper bound of their counters, ascending, so a pair needs no more room than its lower
rank says. Rows whose words hold equally many counters are a class; B is its largest bound plus 1, and B^k is at
most p. From the first row of its class on, items stand in groups of k. The row of rank i in group τ has a word
for each group g from τ on; the counter of the pair (i, j) is digit (j - first) mod k of its word. In its own
group a row has the digits of ranks above i alone, with `diagonal` of i too: a pair stands once, the rest is 0.

So the row of a person with bits x is w_ig = x_i y_ig with y_ig = Σ_j B^((j - first) mod k) x_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.errors import FederationError
from murmura.kernels.compiled import compiled
from murmura.kernels.proofs.field import MODULUS, Elements, add, inner, multiply

Table = TypeVar("Table", bound=NDArray[Any])  # (n, n) of any kind of numbers
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_P, _HALF = np.uint64(MODULUS), np.uint64(MODULUS // 2)  # beyond a half a number stands for a negative one


def counters_in_a_word(base: int) -> int:
    """The largest k with base^k at most p."""
    k, power = 0, 1
    while power * base <= MODULUS:
        k, power = k + 1, power * base
    return k


@dataclass(frozen=True, eq=False)
class PairWords:
    """Where the counter of every pair of ranks stands."""

    bounds: Longs  # (n,) ascending: no counter in the row of a rank is larger
    diagonal: bool = False  # whether a rank is paired with itself too

    @staticmethod
    def of_one_base(ranks: int, base: int) -> PairWords:
        """Where every counter has the same room, and a rank is paired with itself too."""
        return PairWords(np.full(ranks, base - 1, np.int64), diagonal=True)

    def __len__(self) -> int:
        return len(self.bounds)

    @cached_property
    def _classes(self) -> list[tuple[int, int, int, int]]:
        """First rank, the rank after the last, counters in a word, base."""
        sizes = {bound: counters_in_a_word(bound + 1) for bound in np.unique(self.bounds).tolist()}
        each = np.array([sizes[bound] for bound in self.bounds.tolist()], np.int64)
        begins = [*np.flatnonzero(np.diff(each, prepend=0)).tolist(), len(self)]
        return [
            (first, end, int(each[first]), int(self.bounds[end - 1]) + 1) for first, end in pairwise(begins)
        ]

    @cached_property
    def places(self) -> PairPlaces:
        """For compiled loops, by rank."""
        n = len(self)
        first, size, group, start = (np.empty(n, np.int64) for _ in range(4))
        base, groups, words = np.empty(n, np.uint64), 0, 0
        for begin, end, k, B in self._classes:
            count = -(-(n - begin) // k)
            rows = np.arange(begin, end)
            own = (rows - begin) // k
            lengths = count - own
            first[rows], size[rows], base[rows], group[rows] = begin, k, B, groups + own
            start[rows] = words + np.cumsum(lengths) - lengths
            words, groups = words + int(lengths.sum()), groups + count
        return PairPlaces(first, size, base, group, start, words, groups)

    @property
    def words(self) -> int:
        """The length of the packed vector."""
        return self.places.words

    @property
    def groups(self) -> int:
        """The groups of all classes: each has a random number of its own in a proof."""
        return self.places.groups

    def pack(self, own: Longs, weight: int = 1) -> Elements:
        """The words of a person with these ranks, ascending; each pair counts `weight`."""
        words = np.zeros(self.words, np.uint64)
        p = self.places
        _pack(own, np.uint64(weight), self.diagonal, p.first, p.size, p.base, p.start, words)
        return words

    def row_sums(self, x: Elements, t: Elements) -> Elements:
        """(n,) Σ_g t_g y_ig: what the row of a rank is in a proof if its own bit is 1."""
        sums, at = np.empty(len(self), np.uint64), 0
        for begin, end, k, B in self._classes:
            count = -(-(len(self) - begin) // k)
            _row_sums(x[begin:], t[at : at + count], k, np.uint64(B), self.diagonal, sums[begin:end])
            at += count
        return sums

    def word_sum(self, words: Elements, r: Elements, t: Elements) -> int:
        """Σ r_i t_g w_ig: what words are in a proof."""
        p = self.places
        ends = np.append(p.start[1:], self.words)
        return int(_word_sum(words, r, t, p.start, ends, p.group))

    def add_histories(
        self, begins: Longs, ranks: Longs, words: Elements, weights: Elements | None = None
    ) -> None:
        """Add the words of many histories: v has the ascending ranks begins[v] to begins[v + 1].

        Each pair of a history counts its weight; without weights it counts 1.
        """
        p = self.places
        weights = np.ones(len(begins) - 1, np.uint64) if weights is None else weights
        _add_histories(begins, ranks, weights, self.diagonal, p.first, p.size, p.base, p.start, words)

    def cut(self, words: Elements) -> int:
        """Cut sums, in place, to what is possible; how many counters were above their bounds."""
        p = self.places
        return int(_cut(words, self.bounds, self.diagonal, p.first, p.size, p.base, p.start))

    def unpack(self, words: Elements) -> Floats:
        """(n, n) how often each pair occurs, by rank; refuses the impossible."""
        G: Floats = np.zeros((len(self), len(self)))
        return self.unpack_into(G, words, np.arange(len(self), dtype=np.int32))

    def unpack_into(self, G: Table, words: Elements, at: Ints, scale: Floats | None = None) -> Table:
        """Fill G with how often each pair occurs: rank a in row at[a], -1 for none; refuses the impossible.

        Counts in the words of rank a are multiplied by scale[a]; by default all stay as they are.
        """
        p = self.places
        scale = np.ones(len(self)) if scale is None else scale
        layout = (self.diagonal, p.first, p.size, p.base, p.start)
        rank, found = _unpack(words, self.bounds, *layout, at, scale, G)
        if rank >= 0:
            raise FederationError(
                f"a pair of rank {rank} must occur at most {int(self.bounds[rank])} times, but is counted "
                f"{found} times; an aggregator broke the rules; discard the round."
            )
        return G

    def pack_sums(self, G: NDArray[Any]) -> Elements:
        """The words of sums of pairs, (n, n) by rank, negative ones included."""
        words = np.zeros(self.words, np.uint64)
        p = self.places
        _pack_sums(G, self.diagonal, p.first, p.size, p.base, p.start, words)
        return words

    def unpack_signed(self, words: Elements) -> Longs:
        """(n, n) the sums of pairs where noise may have made them negative: |sum| is below base / 2."""
        G = np.zeros((len(self), len(self)), np.int64)
        p = self.places
        _unpack_signed(words, self.diagonal, p.first, p.size, p.base, p.start, G)
        return G


@dataclass(frozen=True, eq=False)
class PairPlaces:
    """By rank: where its row stands. The class of a row, its digits, and its words."""

    first: Longs  # (n,) rank of its class
    size: Longs  # (n,) counters in a word
    base: Elements  # (n,)
    group: Longs  # (n,) its own group, among the groups of all classes
    start: Longs  # (n,) the first word of the row, that of its own group
    words: int
    groups: int


@dataclass(frozen=True, eq=False)
class RankedItems:
    """The items that take part in pairs, ascending by how often each occurs, ties by number.

    Once it is public how often each occurs, no pair can occur more often than the rarer of its two items. So
    everybody works out the same places of all counters from the counts alone.
    """

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


@compiled
def _power(base: np.uint64, digit: int) -> np.uint64:
    """Of a digit of a word: below p, so no product is reduced."""
    found = _ONE
    for _ in range(digit):
        found *= base
    return found


@compiled
def _pack(
    own: Longs,
    weight: np.uint64,
    diagonal: bool,
    first: Longs,
    size: Longs,
    base: Elements,
    start: Longs,
    words: Elements,
) -> None:
    for at in range(len(own)):
        i = own[at]
        begin, k, row = first[i], size[i], start[i] - (own[at] - first[i]) // size[i]
        powers = np.empty(k, np.uint64)
        for digit in range(k):
            powers[digit] = weight * _power(base[i], digit)
        for other in range(at if diagonal else at + 1, len(own)):
            j = own[other] - begin
            words[row + j // k] += powers[j % k]


@compiled
def _add_histories(
    begins: Longs,
    ranks: Longs,
    weights: Elements,
    diagonal: bool,
    first: Longs,
    size: Longs,
    base: Elements,
    start: Longs,
    words: Elements,
) -> None:
    for person in range(len(begins) - 1):
        own = ranks[begins[person] : begins[person + 1]]
        _pack(own, weights[person], diagonal, first, size, base, start, words)


@compiled
def _cut(
    words: Elements,
    bounds: Longs,
    diagonal: bool,
    first: Longs,
    size: Longs,
    base: Elements,
    start: Longs,
) -> int:
    n, above = len(bounds), 0
    for i in range(n):
        begin, k = first[i], size[i]
        word, last = start[i], (i - begin) // k * k + begin
        while last < n:
            rest, kept, power = words[word], _ZERO, _ONE
            for j in range(last, min(last + k, n)):
                found = rest % base[i]
                rest //= base[i]
                most = np.uint64(bounds[i] if j > i or (diagonal and j == i) else 0)
                above += found > most
                kept += min(found, most) * power
                power *= base[i]
            above += rest > _ZERO
            words[word] = kept
            word, last = word + 1, last + k
    return above


@compiled
def _row_sums(x: Elements, t: Elements, k: int, base: np.uint64, diagonal: bool, sums: Elements) -> None:
    """Of one class: x and t begin where it begins, sums end where it ends."""
    after = _ZERO  # Σ t_g y_g over the groups that follow
    powers = np.empty(k, np.uint64)
    for digit in range(k):
        powers[digit] = _power(base, digit)
    for group in range(len(t) - 1, -1, -1):
        part = _ZERO
        for i in range(min((group + 1) * k, len(x)) - 1, group * k - 1, -1):
            above = part
            part = add(part, multiply(powers[i - group * k], x[i]))
            if i < len(sums):
                sums[i] = add(after, multiply(t[group], part if diagonal else above))
        after = add(after, multiply(t[group], part))


@compiled
def _word_sum(words: Elements, r: Elements, t: Elements, start: Longs, ends: Longs, group: Longs) -> np.uint64:
    found = _ZERO
    for i in range(len(start)):
        row = words[start[i] : ends[i]]
        found = add(found, multiply(r[i], inner(row, t[group[i] : group[i] + len(row)])))
    return found


@compiled
def _unpack(
    words: Elements,
    bounds: Longs,
    diagonal: bool,
    first: Longs,
    size: Longs,
    base: Elements,
    start: Longs,
    at: Ints,
    scale: Floats,
    G: Table,
) -> tuple[int, int]:
    """Fill G; the first rank with a counter above its bound, and that counter, or -1."""
    n = len(bounds)
    for i in range(n):
        begin, k = first[i], size[i]
        word, last = start[i], (i - begin) // k * k + begin
        while last < n:
            rest = words[word]
            for j in range(last, min(last + k, n)):
                found = np.int64(rest % base[i])
                rest //= base[i]
                if found > (bounds[i] if j > i or (diagonal and j == i) else 0):
                    return i, int(found)
                if j >= i and at[i] >= 0 and at[j] >= 0 and found:
                    G[at[i], at[j]] = G[at[j], at[i]] = found * scale[i]
            if rest > _ZERO:
                return i, int(bounds[i] + 1)
            word, last = word + 1, last + k
    return -1, 0


@compiled
def _pack_sums(
    G: Table, diagonal: bool, first: Longs, size: Longs, base: Elements, start: Longs, words: Elements
) -> None:
    for i in range(len(start)):
        k = size[i]
        row = start[i] - (i - first[i]) // k
        for j in range(i if diagonal else i + 1, len(start)):
            place, value = j - first[i], np.int64(G[i, j])
            counter = multiply(np.uint64(abs(value)), _power(base[i], place % k))
            if value < 0 and counter > _ZERO:
                counter = _P - counter
            words[row + place // k] = add(words[row + place // k], counter)


@compiled
def _unpack_signed(
    words: Elements, diagonal: bool, first: Longs, size: Longs, base: Elements, start: Longs, G: Longs
) -> None:
    n = len(start)
    for i in range(n):
        begin, k, width = first[i], size[i], np.int64(base[i])
        word, last = start[i], (i - begin) // k * k + begin
        while last < n:
            found = words[word]
            rest = -np.int64(_P - found) if found > _HALF else np.int64(found)
            for j in range(last, min(last + k, n)):
                digit = rest % width
                if digit > width // 2:
                    digit -= width
                rest = (rest - digit) // width
                if j > i or (diagonal and j == i):
                    G[i, j] = G[j, i] = digit
            word, last = word + 1, last + k
