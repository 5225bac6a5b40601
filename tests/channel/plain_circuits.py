"""Our circuits once more, from what their pages say, on whole numbers of Python and over any field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from murmura.kernels.proofs.circuit import ProvenVector, weights_below
from murmura.kernels.proofs.exact_items import CountedItems, PairedItems
from murmura.kernels.proofs.pair_words import PairWords
from murmura.kernels.proofs.weighted_items import WeightedCounts, WeightedPairs
from tests.channel.plain_proofs import FIELD64, Call, Gadget, PrimeField, product_sum


class Plain:
    """A circuit by its products and what is added to them."""

    outputs = 1

    def __init__(self, fast: ProvenVector, prime: PrimeField = FIELD64) -> None:
        self.field, self.length, self.challenges = prime, fast.length, fast.challenges
        self.chunk = fast.gadget.chunk
        self.gadgets: tuple[Gadget, ...] = (product_sum(self.chunk, fast.gadget.calls),)

    def products(self, x: Sequence[int], r: Sequence[int], one: int) -> tuple[list[tuple[int, int]], int]:
        raise NotImplementedError

    def evaluate(self, x: Sequence[int], r: Sequence[int], shares: int, calls: Sequence[Call]) -> list[int]:
        products, found = self.products(x, r, self.field.inverse(shares))
        products += [(0, 0)] * (-len(products) % self.chunk)
        for first in range(0, len(products), self.chunk):
            found += calls[0]([value for pair in products[first : first + self.chunk] for value in pair])
        return [found % self.field.modulus]


@dataclass
class Taken:
    """Numbers, taken from the front."""

    numbers: list[int]
    at: int = field(default=0)

    def next(self, count: int) -> list[int]:
        self.at += count
        assert self.at <= len(self.numbers)
        return self.numbers[self.at - count : self.at]


def each(numbers: list[int], people: int) -> list[list[int]]:
    size = len(numbers) // people
    return [numbers[i * size : (i + 1) * size] for i in range(people)]


def value(bits: Sequence[int], most: int) -> int:
    return sum(w * bit for w, bit in zip(weights_below(most), bits, strict=True))


@dataclass
class Row:
    """The words of a rank: their ranks and digits, and which random number each word has."""

    words: list[list[tuple[int, int]]]  # of each word: (rank, what it counts)
    groups: list[int]


def rows(layout: PairWords, modulus: int) -> list[Row]:
    """Word for word, by the definition."""

    def room(bound: int) -> int:
        k = 0
        while (bound + 1) ** (k + 1) <= modulus:
            k += 1
        return k

    found, first, before = [], 0, 0
    bounds = layout.bounds.tolist()
    for k, same in groupby(range(len(bounds)), lambda rank: room(bounds[rank])):
        ranks = list(same)
        base, count = bounds[ranks[-1]] + 1, -(-(len(bounds) - first) // k)
        for i in ranks:
            made, groups = [], []
            for group in range((i - first) // k, count):
                start = first + group * k
                digits = [(j, base ** (j - start)) for j in range(start, min(start + k, len(bounds)))]
                made.append([(j, weight) for j, weight in digits if j > i or (layout.diagonal and j == i)])
                groups.append(before + group)
            found.append(Row(made, groups))
        first, before = ranks[-1] + 1, before + count
    return found


def groups_of(found: list[Row]) -> int:
    return 1 + max((group for row in found for group in row.groups), default=-1)


class PlainCounted(Plain):
    def __init__(self, fast: CountedItems, prime: PrimeField = FIELD64) -> None:
        super().__init__(fast, prime)
        self.fast = fast

    def parts(self, x: Taken, r: Taken, one: int) -> tuple[list[list[int]], list[tuple[int, int]], int]:
        f = self.fast
        vectors = each(x.next(f.people * f.items), f.people)
        slack = each(x.next(f.people * len(weights_below(f.cap))), f.people)
        bits = [bit for vector in (*vectors, *slack) for bit in vector]
        products = [(bit, s * (bit - one)) for bit, s in zip(bits, r.next(len(bits)), strict=True)]
        whole = sum(
            u * (sum(vector) + value(rest, f.cap) - f.cap * one)
            for vector, rest, u in zip(vectors, slack, r.next(f.people), strict=True)
        )
        return vectors, products, whole

    def products(self, x: Sequence[int], r: Sequence[int], one: int) -> tuple[list[tuple[int, int]], int]:
        return self.parts(Taken(list(x)), Taken(list(r)), one)[1:]


class PlainPaired(PlainCounted):
    def __init__(self, fast: PairedItems, prime: PrimeField = FIELD64) -> None:
        super().__init__(fast.counted, prime)
        self.ranked, self.rows = fast.ranked.tolist(), rows(fast.words, prime.modulus)
        self.groups = groups_of(self.rows)
        self.length += sum(len(row.words) for row in self.rows)
        self.challenges += len(self.rows) + self.groups

    def products(self, x: Sequence[int], r: Sequence[int], one: int) -> tuple[list[tuple[int, int]], int]:
        taken, random = Taken(list(x)), Taken(list(r))
        vectors, products, whole = self.parts(taken, random, one)
        row, t = random.next(len(self.rows)), random.next(self.groups)
        for i, one_row in enumerate(self.rows):
            for person, vector in enumerate(vectors):
                at = person * self.fast.items + self.ranked[i]
                bit, other = products[at]
                said = sum(
                    t[g] * weight * vector[self.ranked[j]]
                    for g, word in zip(one_row.groups, one_row.words)
                    for j, weight in word
                )
                products[at] = bit, other + row[i] * said
            words = taken.next(len(one_row.words))
            whole -= row[i] * sum(t[g] * word for g, word in zip(one_row.groups, words, strict=True))
        return products, whole


class PlainWeightedCounts(Plain):
    def __init__(self, fast: WeightedCounts, prime: PrimeField = FIELD64) -> None:
        super().__init__(fast, prime)
        self.fast = fast

    def products(self, x: Sequence[int], r: Sequence[int], one: int) -> tuple[list[tuple[int, int]], int]:
        f, taken, random = self.fast, Taken(list(x)), Taken(list(r))
        vectors = each(taken.next(f.people * f.items), f.people)
        weights = each(taken.next(f.people * len(weights_below(f.largest))), f.people)
        most = f.largest**2 // f.people
        slack = taken.next(len(weights_below(most)))
        q = [value(bits, f.largest) for bits in weights]
        products = [
            (v, s * (v - weight))
            for vector, weight in zip(vectors, q, strict=True)
            for v, s in zip(vector, random.next(len(vector)), strict=True)
        ]
        bits = [bit for some in (*weights, slack) for bit in some]
        products += [(bit, s * (bit - one)) for bit, s in zip(bits, random.next(len(bits)), strict=True)]
        (u,) = random.next(1)
        products += [(weight, u * sum(vector)) for vector, weight in zip(vectors, q, strict=True)]
        return products, u * (value(slack, most) - most * one)


class PlainWeightedPairs(Plain):
    def __init__(self, fast: WeightedPairs, prime: PrimeField = FIELD64) -> None:
        super().__init__(fast, prime)
        self.fast, self.rows = fast, rows(fast.words, prime.modulus)

    def products(self, x: Sequence[int], r: Sequence[int], one: int) -> tuple[list[tuple[int, int]], int]:
        f, taken, random, n = self.fast, Taken(list(x)), Taken(list(r)), len(self.rows)
        vectors, weighted = each(taken.next(f.people * n), f.people), each(taken.next(f.people * n), f.people)
        width, rest_width = len(weights_below(f.heaviest)), len(weights_below(f.largest))
        weights, slack = each(taken.next(f.people * width), f.people), taken.next(rest_width)
        q = [value(bits, f.heaviest) for bits in weights]
        s, e = random.next(f.people * n), each(random.next(f.people * n), f.people)
        more = random.next(f.people * width + rest_width)
        (u,) = random.next(1)
        row, t = random.next(n), random.next(f.words.groups)
        bits = [bit for vector in vectors for bit in vector]
        products = [(bit, c * (bit - one)) for bit, c in zip(bits, s, strict=True)]
        for person, z in enumerate(weighted):
            for i, one_row in enumerate(self.rows):
                said = sum(
                    t[g] * weight * z[j] for g, word in zip(one_row.groups, one_row.words) for j, weight in word
                )
                bit, other = products[person * n + i]
                products[person * n + i] = bit, other + row[i] * said
        rest = [bit for some in (*weights, slack) for bit in some]
        products += [(bit, c * (bit - one)) for bit, c in zip(rest, more, strict=True)]
        products += [
            (weight, sum(c * bit for c, bit in zip(person, vector, strict=True)))
            for weight, person, vector in zip(q, e, vectors, strict=True)
        ]
        whole = u * (sum(map(sum, weighted)) + value(slack, f.largest) - f.largest * one)
        whole -= sum(c * z for cs, zs in zip(e, weighted, strict=True) for c, z in zip(cs, zs, strict=True))
        for i, one_row in enumerate(self.rows):
            words = taken.next(len(one_row.words))
            whole -= row[i] * sum(t[g] * word for g, word in zip(one_row.groups, words, strict=True))
        return products, whole


def plain(fast: ProvenVector, prime: PrimeField = FIELD64) -> Plain:
    """The plain form of a circuit."""
    if isinstance(fast, PairedItems):
        return PlainPaired(fast, prime)
    if isinstance(fast, CountedItems):
        return PlainCounted(fast, prime)
    if isinstance(fast, WeightedCounts):
        return PlainWeightedCounts(fast, prime)
    assert isinstance(fast, WeightedPairs)
    return PlainWeightedPairs(fast, prime)
