"""Vectors that break one condition of a circuit and keep all others; and where its random numbers are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from murmura.kernels.proofs.circuit import RangeBits, elements
from murmura.kernels.proofs.exact_items import CountedItems, PairedItems
from murmura.kernels.proofs.field import MODULUS, Elements
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.weighted_items import WeightedCounts, WeightedPairs
from tests.channel.plain_circuits import Row, rows
from tests.channel.proven_worlds import CAP, World

Numbers = list[int]


@dataclass(frozen=True, eq=False)
class FalseVector:
    """A vector that should not pass."""

    name: str
    vector: Elements
    dropped: list[int]  # places in the challenge: without these conditions the vector passes


@cache
def _rows(layout: PairWords) -> list[Row]:
    return rows(layout, MODULUS)


def words_of(layout: PairWords, left: list[Numbers], right: list[Numbers]) -> Numbers:
    """Words by the definition, of numbers that need not be bits."""
    return [
        sum(x[i] * sum(weight * y[j] for j, weight in word) for x, y in zip(left, right))
        for i, row in enumerate(_rows(layout))
        for word in row.words
    ]


def flat(*parts: list[Numbers]) -> Numbers:
    return [number for part in parts for each in part for number in each]


def slack_bits(value: int, most: int) -> Numbers:
    """The bits of a number; where it is out of range, the first one makes up for it."""
    kind = RangeBits(most)
    inside = min(max(value, 0), most)
    bits: Numbers = [int(bit) for bit in kind.of(inside)]
    bits[0] += value - inside
    return bits


def histories(there: World, rng: np.random.Generator, sizes: Numbers) -> list[Numbers]:
    """Bits of each person."""
    found = [[0] * there.places for _ in range(there.people)]
    for bits, own in zip(found, there.histories(rng, sizes)):
        for place in own:
            bits[int(place)] = 1
    return found


def false_vectors(there: World, rng: np.random.Generator) -> Iterator[FalseVector]:
    """One for each condition."""
    circuit = there.circuit
    if isinstance(circuit, CountedItems):
        yield from _counted(there, circuit, rng, lambda x: [])
    elif isinstance(circuit, PairedItems):
        yield from _paired(there, circuit, rng)
    elif isinstance(circuit, WeightedCounts):
        yield from _weighted_counts(there, circuit, rng)
    else:
        assert isinstance(circuit, WeightedPairs)
        yield from _weighted_pairs(there, circuit, rng)


def _counted(
    there: World, c: CountedItems, rng: np.random.Generator, words: Callable[[list[Numbers]], Numbers]
) -> Iterator[FalseVector]:
    bits, width, person = c.people * c.items, len(c.slack), int(rng.integers(c.people))
    place = int(rng.integers(c.items))

    def spelt(x: list[Numbers], slack: list[Numbers]) -> Elements:
        return elements(flat(x, slack) + words(x))

    def slack_of(x: list[Numbers]) -> list[Numbers]:
        return [slack_bits(c.cap - sum(vector), c.cap) for vector in x]

    cap, own = [bits + c.people * width + person], bits + person * width
    for value in (2, -1, 3, 2**32, 2 + int(rng.integers(2**62))):
        x = histories(there, rng, [CAP - 4] * c.people)
        x[person][place] = value
        whole = sum(x[person])
        slack = slack_of(x)
        dropped = [person * c.items + place]
        if not 0 <= whole <= c.cap:
            dropped.append(own)
        yield FalseVector(f"a bit is {value}", spelt(x, slack), dropped)
    for many in (CAP + 1, CAP + 2, c.items):
        x = histories(there, rng, [many if one == person else CAP for one in range(c.people)])
        yield FalseVector(f"{many} ones", spelt(x, [[0] * width for _ in x]), cap)
        yield FalseVector(f"{many} ones, a false slack bit", spelt(x, slack_of(x)), [own])
    for bit in range(width):
        x = histories(there, rng, [CAP - 3] * c.people)
        slack = slack_of(x)
        slack[person][bit] = 1 - slack[person][bit]
        yield FalseVector(f"slack bit {bit}", spelt(x, slack), cap)


def _paired(there: World, p: PairedItems, rng: np.random.Generator) -> Iterator[FalseVector]:
    ranked = p.ranked.tolist()

    def words(x: list[Numbers]) -> Numbers:
        ranks = [[vector[place] for place in ranked] for vector in x]
        return words_of(p.words, ranks, ranks)

    yield from _counted(there, p.counted, rng, words)
    x = histories(there, rng, [CAP - 1] * p.counted.people)
    honest = flat(x, [slack_bits(p.counted.cap - sum(vector), p.counted.cap) for vector in x]) + words(x)
    yield from _other_words(p.words, honest, p.counted.length, p.counted.challenges, rng)


def _other_words(
    layout: PairWords, honest: Numbers, first: int, row: int, rng: np.random.Generator
) -> Iterator[FalseVector]:
    """One word is another one: each digit up and down by one, and anything."""
    at = first
    for i, one in enumerate(_rows(layout)):
        base, k = int(layout.places.base[i]), int(layout.places.size[i])
        for word in range(len(one.words)):
            digit = int(rng.integers(k))
            for off in (base**digit, -(base**digit), 1 + int(rng.integers(2**62))):
                x = list(honest)
                x[at] += off
                straddles = " in its own group" if word == 0 else ""
                yield FalseVector(f"row {i}, digit {digit} of {k}{straddles}", elements(x), [row + i])
            at += 1


def _weighted_counts(there: World, w: WeightedCounts, rng: np.random.Generator) -> Iterator[FalseVector]:
    people, width, person = w.people, len(w.weight), int(rng.integers(w.people))
    v, most, place = people * w.items, w.slack.most, int(rng.integers(w.items))
    q_bits, slack_at = v, v + people * width
    u = w.challenges - 1

    def spelt(vectors: list[Numbers], weights: list[Numbers], slack: Numbers | None = None) -> Elements:
        kinds = [int(RangeBits(w.largest).weights[i]) for i in range(width)]
        q = [sum(a * b for a, b in zip(kinds, bits)) for bits in weights]
        squares = sum(one * sum(vector) for one, vector in zip(q, vectors))
        return elements(flat(vectors, weights, [slack_bits(most - squares, most) if slack is None else slack]))

    def honest(sizes: Numbers) -> tuple[list[Numbers], Numbers]:
        x = histories(there, rng, sizes)
        q = [w.weight_of(max(1, 2 * sum(bits)), people) for bits in x]
        return [[one * bit for bit in bits] for one, bits in zip(q, x)], q

    for value in ("twice", "more", "less", "negative"):
        vectors, q = honest([2] * people)
        place = int(np.flatnonzero(vectors[person])[0])
        vectors[person][place] = {"twice": 2 * q[person], "more": q[person] + 1}.get(value, q[person] - 1)
        vectors[person][place] = -1 if value == "negative" else vectors[person][place]
        dropped = [person * w.items + place]
        bits = [slack_bits(one, w.largest) for one in q]
        yield FalseVector(f"a value is {value}", spelt(vectors, bits), dropped)
    vectors, q = honest([2] * people)
    bits = [slack_bits(one, w.largest) for one in q]
    for slack, name in ((None, "a false slack bit"), ([0] * len(w.slack), "no slack")):
        long = [list(vector) for vector in vectors]
        large = [list(one) for one in bits]
        ones = [0 if not value else w.largest for value in long[person]]
        long[person], large[person] = ones, slack_bits(w.largest, w.largest)
        dropped = [slack_at if slack is None else u]
        yield FalseVector(f"too long, {name}", spelt(long, large, slack), dropped)
    for bit in range(len(w.slack)):
        x = spelt(vectors, bits)
        x[slack_at + bit] = 1 - int(x[slack_at + bit])
        yield FalseVector(f"slack bit {bit}", x, [u])
    odd = [list(one) for one in bits]
    odd[person] = [0, *[0] * (width - 2), 0]
    odd[person][1] = 3  # a weight of 6, by no bits
    six = [list(vector) for vector in vectors]
    six[person] = [6 if value else 0 for value in six[person]]
    yield FalseVector("a weight by no bits", spelt(six, odd), [q_bits + person * width + 1])


def _weighted_pairs(there: World, w: WeightedPairs, rng: np.random.Generator) -> Iterator[FalseVector]:
    people, n, width = w.people, len(w.words), len(w.weight)
    person, each = int(rng.integers(people)), people * n
    e, more = each, 2 * each
    slack_width = len(w.slack)
    u = more + people * width + slack_width
    row = u + 1
    kinds = [int(one) for one in w.weight.weights]

    def spelt(
        x: list[Numbers], z: list[Numbers], weights: list[Numbers], slack: Numbers | None = None
    ) -> Numbers:
        left = slack_bits(w.largest - sum(map(sum, z)), w.largest) if slack is None else slack
        return flat(x, z, weights, [left]) + words_of(w.words, x, z)

    def scaled(x: list[Numbers], q: Numbers) -> list[Numbers]:
        return [[one * bit for bit in bits] for one, bits in zip(q, x)]

    def honest(sizes: Numbers) -> tuple[list[Numbers], Numbers, list[Numbers]]:
        x = histories(there, rng, sizes)
        q = [min(w.heaviest, w.largest // (4 * people * max(1, sum(bits)))) for bits in x]
        return x, q, [slack_bits(one, w.heaviest) for one in q]

    for value in (2, -1, 3):
        x, q, bits = honest([3] * people)
        place = int(np.flatnonzero(np.array(x[person]) == 0)[0])
        x[person][place] = value
        yield FalseVector(f"a bit is {value}", elements(spelt(x, scaled(x, q), bits)), [person * n + place])
    x, q, bits = honest([3] * people)
    for off in (1, -1, 7):
        z = scaled(x, q)
        place = int(rng.integers(n))
        z[person][place] += off
        yield FalseVector(
            f"a weighted bit is off by {off}", elements(spelt(x, z, bits)), [e + person * n + place]
        )
    for slack, name in ((None, "a false slack bit"), ([0] * slack_width, "no slack")):
        y = histories(there, rng, [CAP if one == person else 3 for one in range(people)])
        long = [w.heaviest if one == person else q[one] for one in range(people)]
        large = [slack_bits(one, w.heaviest) for one in long]
        dropped = [more + people * width if slack is None else u]
        yield FalseVector(f"too long, {name}", elements(spelt(y, scaled(y, long), large, slack)), dropped)
    for bit in range(slack_width):
        found = elements(spelt(x, scaled(x, q), bits))
        at = 2 * each + people * width + bit
        found[at] = 1 - int(found[at])
        yield FalseVector(f"slack bit {bit}", found, [u])
    odd = [list(one) for one in bits]
    odd[person] = [0] * width
    odd[person][1] = 3
    six = [6 if one == person else q[one] for one in range(people)]
    assert kinds[1] == 2
    yield FalseVector(
        "a weight by no bits", elements(spelt(x, scaled(x, six), odd)), [more + person * width + 1]
    )
    first = 2 * each + people * width + slack_width
    yield from _other_words(w.words, spelt(x, scaled(x, q), bits), first, row, rng)
    heavy = [w.heaviest + 1 if one == person else q[one] for one in range(people)]
    large = [slack_bits(one, w.heaviest) for one in heavy]
    one_item = histories(there, rng, [1] * people)
    yield FalseVector(
        "too heavy", elements(spelt(one_item, scaled(one_item, heavy), large)), [more + person * width]
    )
