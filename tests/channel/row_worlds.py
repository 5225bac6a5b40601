"""Rows of few items, true and false, of both circuits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from murmura.core.arrays import Longs
from murmura.kernels.point_functions.bins import gathered, place_table
from murmura.kernels.point_functions.sizes import Bins
from murmura.kernels.point_functions.tree import Folded
from murmura.kernels.proofs.declared_rows import BinnedRows, DenseRows, KeyRows
from murmura.kernels.proofs.field import MODULUS, Elements

ITEMS, CAP, WIDTH = 23, 4, 3
DIGITS = ((1, 9), (1 << 32, 5))  # of each number, where all rows have the same
RowCircuit = DenseRows | KeyRows


@dataclass(frozen=True, eq=False)
class Leaves:
    """Any numbers at all places of all bins: the plain form of what a key stands for."""

    bins: Bins
    numbers: Elements  # (places, 1 + width)
    extras: Elements
    count: int = 0  # of bins; 0: those of `bins`

    def folded(self, r: Elements, t: Elements) -> Folded:
        sums = []
        for places in np.split(self.numbers, self.count or self.bins.count):
            flags = [int(one) for one in places[:, 0]]
            y = [sum(int(a) * int(b) for a, b in zip(row[1:], t)) for row in places]
            told = [int(one) for one in r]
            weighted = sum(a * f for a, f in zip(told, flags))
            squared = sum(a * a * f for a, f in zip(told, flags))
            sums.append((weighted, squared, sum(y), sum(a * b for a, b in zip(told, y))))
        columns = [np.array([one % MODULUS for one in column], np.uint64) for column in zip(*sums)]
        return Folded(self.numbers[:, :1].copy(), *columns)

    def of_items(self, flags: Elements) -> Elements:
        return gathered(flags, place_table(self.bins)).ravel()


def leaves_of(own: BinnedRows) -> Leaves:
    numbers = np.zeros((own.bins.places, own.numbers.shape[1]), np.uint64)
    numbers[np.arange(own.bins.count) * own.bins.width + own.at] = own.numbers
    return Leaves(own.bins, numbers, own.extras)


def circuit(kind: type[RowCircuit], same: bool, follows: bool = False) -> RowCircuit:
    return kind(ITEMS, CAP, WIDTH, DIGITS if same else (), follows)


def rows(rng: np.random.Generator, count: int, same: bool) -> tuple[Longs, Elements]:
    index = np.sort(rng.permutation(ITEMS)[:count]).astype(np.int64)
    numbers = rng.integers(0, MODULUS, (count, 1 + WIDTH), dtype=np.uint64)
    if same and count:
        one = sum(weight * rng.integers(0, most + 1, WIDTH) for weight, most in DIGITS)
        numbers[:, 1:] = np.asarray(one, np.uint64)
    numbers[:, 0] = 1
    return index, numbers


@dataclass(frozen=True, eq=False)
class FalseRows:
    """Rows that should not pass."""

    name: str
    vector: Elements | Leaves
    dropped: list[int]  # places in the challenge: without these conditions the rows pass


def false_rows(rng: np.random.Generator, c: RowCircuit) -> Iterator[FalseRows]:
    """One for each condition."""
    index, numbers = rows(rng, CAP - 1, bool(c.digits))
    if isinstance(c, DenseRows):
        yield from _dense(c, c.of_rows(index, numbers), index)
    else:
        yield from _keys(c, leaves_of(c.of_rows(index, numbers)), index)


def _bits(c: RowCircuit, at: int) -> Iterator[tuple[str, list[tuple[int, int]], list[int]]]:
    """Of the bits: changes that keep what they stand for, and the conditions at `at` they break."""
    if c.capped:
        # the cap's bits count 1, 2, 1 (of 4): 1 more there, 1 less here
        yield "a bit of the cap is 2, another one -1", [(0, 1), (2, -1)], [at, at + 2]
    if c.digits:
        first = 3 if c.capped else 0
        yield "a bit of a digit is moved", [(first + 1, 1), (first, -2)], [at + first, at + first + 1]


def _dense(c: DenseRows, x: Elements, index: Longs) -> Iterator[FalseRows]:
    e, s = WIDTH, WIDTH + ITEMS
    more = WIDTH + 2 * ITEMS + ITEMS * bool(c.digits)
    here, free = int(index[0]), next(i for i in range(ITEMS) if i not in index)
    end = ITEMS * (1 + WIDTH)

    def changed(*changes: tuple[int, int]) -> Elements:
        lie = x.copy()
        for at, by in changes:
            lie[at] = (int(lie[at]) + by) % MODULUS
        return lie

    same = [WIDTH + 2 * ITEMS + i for i in range(ITEMS)] if c.digits else []
    yield FalseRows("a flag of 2", changed((here, 1), (end, -1)), [s + here, e + here, more, *same])
    yield FalseRows("one row too many", changed((free, 1)), [more + c.extras, *same])
    yield FalseRows("a payload without a flag", changed((ITEMS + free * WIDTH, 1)), [e + free, *same])
    if c.digits:
        yield FalseRows("another payload", changed((ITEMS + here * WIDTH, 1)), same)
    for name, changes, dropped in _bits(c, more):
        yield FalseRows(name, changed(*((end + at, by) for at, by in changes)), dropped)


def _keys(c: KeyRows, x: Leaves, index: Longs) -> Iterator[FalseRows]:
    bins = c.bins
    tau = bins.width + WIDTH
    sigma = tau + 1
    v = sigma + bins.count
    s = v + bins.count * bool(c.digits)
    more = s + ITEMS * c.capped
    same = list(range(v, v + bins.count)) if c.digits else []
    held = np.flatnonzero(x.numbers[:, 0])
    place, bin = int(held[0]), int(held[0]) // bins.width
    table = place_table(bins)
    item = int(np.argwhere((table == place).any(axis=1))[0, 0])
    empty = next(b for b in range(bins.count) if b not in held // bins.width)
    beside = bin * bins.width + (place + 1) % bins.width
    other = next(int(p) for p in table[item] if p // bins.width not in held // bins.width)
    flags = [s + i for i in range(ITEMS)] if c.capped else []

    def changed(*changes: tuple[int, int, int], extras: tuple[tuple[int, int], ...] = ()) -> Leaves:
        numbers, bits = x.numbers.copy(), x.extras.copy()
        for at, column, by in changes:
            numbers[at, column] = (int(numbers[at, column]) + by) % MODULUS
        for at, by in extras:
            bits[at] = (int(bits[at]) + by) % MODULUS
        return replace(x, numbers=numbers, extras=bits)

    cap = [more + c.extras] if c.capped else []
    yield FalseRows("a flag of 2", changed((place, 0, 1)), [sigma + bin, *cap, *flags, *same])
    yield FalseRows("a flag of -1", changed((place, 0, -2)), [sigma + bin, *cap, *flags, *same])
    yield FalseRows("two flags in a bin", changed((beside, 0, 1)), [sigma + bin, *cap, *flags, *same])
    yield FalseRows(
        "flags that add up to 1",
        changed((place, 0, 1), (beside, 0, -1)),
        [sigma + bin, *flags, tau, *same],
    )
    yield FalseRows("a payload in an empty bin", changed((empty * bins.width, 1, 1)), [tau, *same])
    yield FalseRows("a payload beside its flag", changed((beside, 1, 1)), [tau, *same])
    yield FalseRows(
        "payloads beside their flag that add up to 0",
        changed((place, 1, 1), (beside, 1, -1)), [tau, *same],
    )  # fmt: skip
    whole = [(other, column, int(x.numbers[place, column])) for column in range(1 + WIDTH)]
    if c.capped:
        slack = ((0, -1), (1, 0))  # its bits count what is missing to the cap: one row less
        yield FalseRows("an item in two of its bins", changed(*whole, extras=slack), [s + item, *cap])
        free = next(
            int(table[i, 0]) for i in range(ITEMS)
            if i not in index and table[i, 0] // bins.width not in held // bins.width
        )  # fmt: skip
        more_rows = [(free, column, int(x.numbers[place, column])) for column in range(1 + WIDTH)]
        yield FalseRows("one row too many", changed(*more_rows), cap)
    if c.digits:
        yield FalseRows("another payload", changed((place, 1, 1)), same)
    for name, changes, dropped in _bits(c, more):
        yield FalseRows(name, changed(extras=tuple(changes)), dropped)
