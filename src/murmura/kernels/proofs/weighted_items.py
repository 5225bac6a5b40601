"""The circuits of noisy sums: one whole-number weight q for each person, and what is sent is q times her bits.

Counts. The longest vector of a device has the length L (`largest`).

    v     people · items   q for each item a person shares
    q     people · bits    q from 0 to L, by its bits
    c     bits             by which Σ_people q Σ_i v_i is less than L² / people, rounded down
    r     s, one for each number of the vector; u

v (v - q) is 0, so v is q or 0 and q Σ v is |v|². As |Σ_people v|² is at most people Σ |v|², a device's is at
most L long. No sum of squares reaches p. An honest person of n items takes the largest q with q² n at most
L² / (people k), where k people of the device share anything.

Pairs. Ranks stand in `pair_words` with their diagonal, and all digits have one base.

    x     people · n      1 for each item a person shares
    z     people · n      q x
    q     people · bits   q from 0 to H (`heaviest`), by its bits
    c     bits            by how much Σ z of all people is less than L
    w     words           Σ_people x_i y_ig of z
    r     s, one for each number of x; e, one for each number of z; s, one for each number of q and c; u; row; t

A pair off the diagonal stands once and is two entries of x x': noise off it has a √2 smaller deviation. In
units of the noise a person's vector has the length q n = Σ z, and that of a device at most Σ_people q n. No
weight is above H, also of a person with few items: so more counters fit into a word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.core.errors import SettingError
from murmura.kernels.proofs.circuit import Inputs, RangeBits, elements
from murmura.kernels.proofs.exact_items import summed_vectors
from murmura.kernels.proofs.field import (
    MODULUS,
    Elements,
    add_into,
    added,
    inner,
    multiplied,
    scaled,
    subtracted,
    total,
)
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.products import ProductGadget

_P, _HALF = np.uint64(MODULUS), np.uint64(MODULUS // 2)  # beyond a half a number stands for a negative one


def _by_bits(weights: Sequence[int], kinds: RangeBits) -> Elements:
    """The bits of each person's weight."""
    return np.concatenate([kinds.of(weight) for weight in weights])


def _weights_of(bits: Elements, kinds: RangeBits, people: int) -> Elements:
    """Each person's weight, of its bits or of shares of them."""
    return np.array([kinds.value(each) for each in bits.reshape(people, -1)], np.uint64)


@dataclass(frozen=True)
class WeightedCounts:
    """Items that each person shares, each of her weight."""

    items: int
    people: int
    largest: int

    linked = 0

    def __post_init__(self) -> None:
        if self.people * self.items * self.largest**2 >= MODULUS:
            raise SettingError(
                f"the largest weight of {self.items} items must keep its squares below the field, but is "
                f"{self.largest}; take fewer bits."
            )

    @cached_property
    def weight(self) -> RangeBits:
        """The weight of a person."""
        return RangeBits(self.largest)

    @cached_property
    def slack(self) -> RangeBits:
        """By how much the squares stay below what they may be."""
        return RangeBits(self.largest**2 // self.people)

    @cached_property
    def _parts(self) -> list[int]:
        """Where q, c and the end are in the vector."""
        v, q = self.people * self.items, self.people * len(self.weight)
        return [v, v + q, v + q + len(self.slack)]

    @property
    def length(self) -> int:
        """Numbers in the vector: v, q, then c."""
        return self._parts[-1]

    @property
    def challenges(self) -> int:
        """Numbers s, and u."""
        return self.length + 1

    @cached_property
    def gadget(self) -> ProductGadget:
        """One product for each number, and one for the length of each person."""
        return ProductGadget.of(self.length + self.people)

    @property
    def parameters(self) -> bytes:
        """What it depends on."""
        return f"weighted counts {self.items} {self.people} {self.largest}".encode()

    def weight_of(self, n: int, sharing: int) -> int:
        """The largest weight of a person with n items on a device of so many people who share anything."""
        return min(self.largest, isqrt(self.largest**2 // (self.people * sharing * n))) if n else 0

    def vector(self, own: Sequence[Longs]) -> Elements:
        """Of the places of the items that each person shares."""
        v = np.zeros((self.people, self.items), np.uint64)
        sharing, left = sum(len(places) > 0 for places in own), self.slack.most
        weights = [0] * self.people
        for person, places in enumerate(own):
            q = weights[person] = self.weight_of(len(places), sharing)
            v[person, places] = q
            left -= q * q * len(places)
        return np.concatenate([v.ravel(), _by_bits(weights, self.weight), self.slack.of(left)])

    def inputs(self, x: Elements, r: Elements, one: int) -> Inputs:
        """Of the vector, or of a share of it."""
        end, bits, whole = self._parts
        q = _weights_of(x[end:bits], self.weight, self.people)
        right = np.concatenate([np.repeat(q, self.items), np.full(whole - end, one, np.uint64)])
        b, u = multiplied(r[:whole], subtracted(x, right)), r[whole]
        sums = np.array([total(each) for each in x[:end].reshape(self.people, -1)], np.uint64)
        linear = int(u) * (self.slack.value(x[bits:]) - self.slack.most * one) % MODULUS
        return Inputs(np.concatenate([x, q]), np.concatenate([b, scaled(sums, u)]), linear)

    def released(self, x: Elements) -> Elements:
        """The weighted items of all people of the device."""
        return summed_vectors(x[: self._parts[0]].reshape(self.people, -1))

    @property
    def released_length(self) -> int:
        """Numbers in what is released."""
        return self.items

    @property
    def most(self) -> int:
        """No device adds more to a number."""
        return self.largest

    def add_histories(self, first: Longs, begins: Longs, places: Longs, sums: Elements) -> None:
        """Add what the devices of these people release."""
        n = np.diff(begins)
        squares = self.largest**2 // (self.people * _sharing(first) * n)
        weights = np.minimum(self.largest, np.floor(np.sqrt(squares)).astype(np.int64))  # far below 2^53
        np.add.at(sums, places[begins[0] : begins[-1]], np.repeat(weights, n).astype(np.uint64))

    def steps(self, sums: Elements) -> Floats:
        """Sums and their noise as signed numbers, in steps."""
        numbers: Floats = np.where(sums > _HALF, -(_P - sums).astype(np.float64), sums.astype(np.float64))
        return numbers

    def noise(self, sigma: int, drawn: Callable[[int, int], Longs]) -> Elements:
        """One aggregator's, of this deviation; `drawn` draws so many numbers of one."""
        return elements(drawn(sigma, self.items).tolist())


@dataclass(frozen=True, eq=False)
class WeightedPairs:
    """Pairs of items that each person shares, each of her weight."""

    people: int
    largest: int
    heaviest: int
    words: PairWords

    linked = 0

    @cached_property
    def weight(self) -> RangeBits:
        """The weight of a person."""
        return RangeBits(self.heaviest)

    @cached_property
    def slack(self) -> RangeBits:
        """By how much the length stays below what it may be."""
        return RangeBits(self.largest)

    @cached_property
    def _parts(self) -> list[int]:
        """Where z, q, c, w and the end are in the vector."""
        each = self.people * len(self.words)
        sizes = [each, each, self.people * len(self.weight), len(self.slack), self.words.words]
        return list(np.cumsum(sizes).tolist())

    @property
    def length(self) -> int:
        """Numbers in the vector: x, z, q, c, then w."""
        return self._parts[-1]

    @property
    def challenges(self) -> int:
        """Numbers s and e, u, row and t."""
        return self._parts[3] + 1 + len(self.words) + self.words.groups

    @cached_property
    def gadget(self) -> ProductGadget:
        """One product for each bit, and one for the weight of each person."""
        each = self.people * len(self.words)
        return ProductGadget.of(self._parts[3] - each + self.people)

    @cached_property
    def parameters(self) -> bytes:
        """What it depends on."""
        layout = hashlib.sha256(self.words.bounds.astype("<i8").tobytes()).hexdigest()
        return f"weighted pairs {self.people} {self.largest} {self.heaviest} {layout}".encode()

    def weight_of(self, n: int, sharing: int) -> int:
        """The largest weight of a person with n items on a device of so many people who share anything."""
        return min(self.heaviest, self.largest // (sharing * n)) if n else 0

    def vector(self, own: Sequence[Longs]) -> Elements:
        """Of the ranks of the items that each person shares, ascending."""
        sharing = sum(len(ranks) > 0 for ranks in own)
        x = np.zeros((self.people, len(self.words)), np.uint64)
        weights, words = [0] * self.people, np.zeros(self.words.words, np.uint64)
        for person, ranks in enumerate(own):
            x[person, ranks] = 1
            weights[person] = self.weight_of(len(ranks), sharing)
            add_into(words, self.words.pack(np.sort(ranks), weights[person]))
        z = x * np.array(weights, np.uint64)[:, None]
        left = self.slack.of(self.largest - int(z.sum()))
        return np.concatenate([x.ravel(), z.ravel(), _by_bits(weights, self.weight), left, words])

    def inputs(self, x: Elements, r: Elements, one: int) -> Inputs:
        """Of the vector, or of a share of it."""
        x, z, q, left, words = np.split(x, self._parts[:-1])
        n, each = len(self.words), len(x)
        s, e, more, u, row, t = np.split(r, np.cumsum([each, each, len(q) + len(left), 1, n]))
        bits, challenges = np.concatenate([x, q, left]), np.concatenate([s, more])
        b = multiplied(challenges, subtracted(bits, np.full(len(bits), one, np.uint64)))
        rows, weights = b[:each].reshape(self.people, -1), _weights_of(q, self.weight, self.people)
        chosen = []  # Σ e x of each person: times her weight it is Σ e z
        for person, (bit, weighted) in enumerate(zip(x.reshape(self.people, -1), z.reshape(self.people, -1))):
            sums = multiplied(row, self.words.row_sums(weighted, t))
            rows[person] = added(rows[person], sums)
            chosen.append(inner(e[person * n : (person + 1) * n], bit))
        linear = int(u[0]) * (int(total(z)) + self.slack.value(left) - self.largest * one)
        linear -= int(inner(e, z)) + self.words.word_sum(words, row, t)
        a, found = np.concatenate([bits, weights]), np.concatenate([b, np.array(chosen, np.uint64)])
        return Inputs(a, found, linear % MODULUS)

    def released(self, x: Elements) -> Elements:
        """The words."""
        return x[self._parts[3] :]

    @property
    def released_length(self) -> int:
        """Numbers in what is released."""
        return self.words.words

    @property
    def most(self) -> int:
        """No device adds more to a counter."""
        return min(self.largest, self.people * self.heaviest)

    def add_histories(self, first: Longs, begins: Longs, places: Longs, sums: Elements) -> None:
        """Add what the devices of these people release."""
        weights = np.minimum(self.heaviest, self.largest // (_sharing(first) * np.diff(begins)))
        self.words.add_histories(begins, places, sums, weights.astype(np.uint64))

    def steps(self, sums: Elements) -> Floats:
        """Sums and their noise by pairs a <= b, row by row, in steps: off the diagonal times the root of 2."""
        G = self.words.unpack_signed(sums).astype(np.float64) * np.sqrt(2.0)
        np.fill_diagonal(G, G.diagonal() / np.sqrt(2.0))
        upper: Floats = G[np.triu_indices(len(G))]
        return upper

    def noise(self, sigma: int, drawn: Callable[[int, int], Longs]) -> Elements:
        """One aggregator's, of this deviation on the diagonal and one a root of 2 smaller off it."""
        n = len(self.words)
        G = np.diag(drawn(sigma, n))
        G[np.triu_indices(n, 1)] = drawn(off_diagonal(sigma), n * (n - 1) // 2)
        return self.words.pack_sums(G)


def off_diagonal(sigma: int) -> int:
    """The deviation off the diagonal, where each entry stands for two."""
    return isqrt((sigma**2 + 1) // 2 - 1) + 1 if sigma else 0  # the least whose square is at least half of that


def _sharing(first: Longs) -> Longs:
    """Of every person how many people of the device share anything."""
    people = np.diff(first)
    return np.repeat(people, people)
