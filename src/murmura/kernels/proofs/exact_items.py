"""The circuits of exact counts and of exact pairs.

Counts: for each person of a device a vector of bits, at most `cap` of them ones.

    x     people · items   1 for each item a person shares
    c     people · bits    by which Σ_i x_i is less than cap
    r     s, one for each number of x and c; u, one for each person

Every bit: s x (x - 1) is 0. Every person: u (Σ_i x_i + Σ_j weight_j c_j - cap) is 0. The bits add up to at most
items + cap, far below p, so the second is a statement about whole numbers. One product for each bit.

Pairs: bits as of counts, and the words of all pairs of ones.

    x, c  as of counts
    w     words of `pair_words`; what a device sends is the sum over its people
    r     s and u as there; row_i for each rank; t_g for each group of each class

With y_ig of the bits of one person, Σ row_i t_g w_ig = Σ_people Σ_i x_i row_i Y_i with Y_i = Σ_g t_g y_ig, as
polynomials in row and t, if and only if every word is what the bits say. The right side takes no product more,
as x_i has one already; row Y is added for items that have a rank:

    Σ_bits x (s (x - 1) + row Y) - Σ row_i t_g w_ig + Σ_people u (Σ x + Σ weight c - cap) = 0
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmura.core.arrays import Longs
from murmura.kernels.proofs.circuit import Inputs, RangeBits
from murmura.kernels.proofs.field import MODULUS, Elements, add_into, added, multiplied, subtracted, total
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.products import ProductGadget


@dataclass(frozen=True)
class CountedItems:
    """Which of so many items each person shares."""

    items: int
    people: int
    cap: int

    @cached_property
    def slack(self) -> RangeBits:
        """By how much a person stays below the cap."""
        return RangeBits(self.cap)

    @property
    def linked(self) -> int:
        """All of x."""
        return self.people * self.items

    @property
    def bits(self) -> int:
        """Numbers that must be 0 or 1: x and c."""
        return self.linked + self.people * len(self.slack)

    @property
    def length(self) -> int:
        """Numbers in the vector: x, then c."""
        return self.bits

    @property
    def challenges(self) -> int:
        """Numbers s and u."""
        return self.bits + self.people

    @cached_property
    def gadget(self) -> ProductGadget:
        """One product for each bit."""
        return ProductGadget.of(self.bits)

    @property
    def parameters(self) -> bytes:
        """What it depends on."""
        return f"counts {self.items} {self.people} {self.cap}".encode()

    def vector(self, own: Sequence[Longs]) -> Elements:
        """Of the places of the items that each person shares; nobody is nobody's items."""
        x = np.zeros((self.people, self.items), np.uint64)
        slack = np.zeros((self.people, len(self.slack)), np.uint64)
        slack[:] = self.slack.of(self.cap)
        for person, places in enumerate(own):
            x[person, places] = 1
            slack[person] = self.slack.of(self.cap - len(places))
        return np.concatenate([x.ravel(), slack.ravel()])

    def inputs(self, x: Elements, r: Elements, one: int) -> Inputs:
        """Of the vector, or of a share of it."""
        b = multiplied(r[: self.bits], subtracted(x, np.full(self.bits, one, np.uint64)))
        return Inputs(x, b, self.capped(x, r[self.bits :], one))

    def capped(self, x: Elements, u: Elements, one: int) -> int:
        """What is 0 if nobody has more than the cap."""
        vectors, slack = x[: self.linked].reshape(self.people, -1), x[self.linked :].reshape(self.people, -1)
        found = 0
        for person in range(self.people):
            whole = int(total(vectors[person])) + self.slack.value(slack[person])
            found += int(u[person]) * (whole - self.cap * one)
        return found % MODULUS

    def released(self, x: Elements) -> Elements:
        """How many people of the device share each item."""
        return summed_vectors(x[: self.linked].reshape(self.people, -1))


def summed_vectors(vectors: Elements) -> Elements:
    """The sum of the vectors of all people, (people, numbers)."""
    found: Elements = vectors[0].copy()
    for each in vectors[1:]:
        add_into(found, each)
    return found


@dataclass(frozen=True, eq=False)
class PairedItems:
    """Which items each person shares, and all pairs of those that take part."""

    counted: CountedItems
    ranked: Longs  # (n,) the place of each rank among the items
    words: PairWords
    rows: tuple[int, int] | None = None  # the ranks whose words are sent, first and last + 1; None: all

    @cached_property
    def _sent(self) -> slice:
        """Which words are sent."""
        if self.rows is None:
            return slice(0, self.words.words)
        return slice(*np.append(self.words.places.start, self.words.words)[list(self.rows)].tolist())

    @property
    def linked(self) -> int:
        """All of x: that of the counts before."""
        return self.counted.linked

    @property
    def length(self) -> int:
        """Numbers in the vector: x, c, then w."""
        return self.counted.length + int(self._sent.stop - self._sent.start)

    @property
    def challenges(self) -> int:
        """Numbers s, u, row and t."""
        return self.counted.challenges + len(self.words) + self.words.groups

    @cached_property
    def gadget(self) -> ProductGadget:
        """One product for each bit."""
        return self.counted.gadget

    @cached_property
    def parameters(self) -> bytes:
        """What it depends on: the layout is that of the bounds."""
        layout = np.concatenate([self.ranked, self.words.bounds]).astype("<i8").tobytes()
        rows = b"" if self.rows is None else f" rows {self.rows[0]} {self.rows[1]}".encode()
        digest = hashlib.sha256(layout).hexdigest().encode()
        return b"pairs of " + self.counted.parameters + b" " + digest + rows

    def vector(self, own: Sequence[Longs]) -> Elements:
        """Of the places of the items that each person shares."""
        rank = np.full(self.counted.items, -1, np.int64)
        rank[self.ranked] = np.arange(len(self.ranked))
        words = np.zeros(self.words.words, np.uint64)
        for places in own:
            mine = rank[places]
            add_into(words, self.words.pack(np.sort(mine[mine >= 0])))
        return np.concatenate([self.counted.vector(own), words[self._sent]])

    def inputs(self, x: Elements, r: Elements, one: int) -> Inputs:
        """Of the vector, or of a share of it."""
        c = self.counted
        bits = c.inputs(x[: c.length], r[: c.challenges], one)
        row, t = np.split(r[c.challenges :], [len(self.words)])
        if self.rows is not None:
            row = np.where(np.isin(np.arange(len(row)), np.arange(*self.rows)), row, np.uint64(0))
        rows = bits.b[: c.linked].reshape(c.people, -1)
        for person, each in enumerate(x[: c.linked].reshape(c.people, -1)):
            sums = multiplied(row, self.words.row_sums(each[self.ranked], t))
            rows[person, self.ranked] = added(rows[person, self.ranked], sums)
        words = self.words.word_sum(self._all_words(x[c.length :]), row, t)
        return Inputs(bits.a, bits.b, (bits.linear - words) % MODULUS)

    def _all_words(self, sent: Elements) -> Elements:
        """With 0 for words that are not sent: nothing is said of their rows."""
        if self.rows is None:
            return sent
        words = np.zeros(self.words.words, np.uint64)
        words[self._sent] = sent
        return words

    def released(self, x: Elements) -> Elements:
        """The words; bits that were released here would be a second sum of counts."""
        return x[self.counted.length :]
