"""The circuits of few rows of many: at most `cap` items, of each a flag of 1 and a payload of `width` numbers.

    x   items           1 for each item that has a row
    Y   items · width   its payload, 0 where x is
    c   bits            by which Σ x is less than cap, where no exchange before has proved x
    d   bits            the digits of the payload T, where all rows have the same: Y_i = x_i T

`DenseRows` has x and Y of all items as they are, so n products prove them: with y_i = Σ_c t_c Y_ic
    s_i x_i (x_i - 1) = 0 and e_i (x_i y_i - y_i) = 0.
`KeyRows` has flag f and payload Y of every place of every bin as keys stand for them; x_i is the sum of f over
the three places of an item. With A = Σ r_p f_p, y_p = Σ_c t_c Y_pc and sums over the places p of one bin
    σ (A (A + τ Σ y_p) - Σ r_p² f_p - τ Σ r_p y_p) = 0
says that one f at most is 1 and all others 0 (what r_p² and r_p r_q count), and that y_p = f_p Σ y (what τ r_p
counts). It does not say that an item has one row alone: x is proved to be of bits, in the first exchange, and
the same in the later ones. Numbers r serve all bins, as each bin has a σ.

The same payload everywhere is one product more: Σ v x · Σ t T - Σ v y = 0, over items or over bins.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from murmura.core.arrays import Longs
from murmura.core.errors import FederationError
from murmura.kernels.point_functions.bins import assigned, gathered, place_table
from murmura.kernels.point_functions.sizes import Bins
from murmura.kernels.point_functions.tree import Corrections, Folded, add_expanded, fold
from murmura.kernels.proofs.circuit import Inputs, RangeBits
from murmura.kernels.proofs.field import (
    MODULUS,
    Elements,
    added,
    inner,
    multiplied,
    row_inners,
    row_totals,
    scaled,
    subtracted,
    total,
)
from murmura.kernels.proofs.products import ProductGadget


@dataclass(frozen=True, eq=False)
class DeclaredRows:
    """What both circuits have in common."""

    items: int
    cap: int
    width: int
    digits: tuple[tuple[int, int], ...] = ()  # (weight, largest) of each digit of every number of a payload
    follows: bool = False  # whether an exchange before has proved x
    shown: Longs | None = None  # the places of the items whose rows are released; None: all

    @property
    def bins(self) -> Bins:
        """Which items find a place: in both circuits the same ones."""
        return Bins(self.items, self.cap)

    @property
    def linked(self) -> int:
        """All of x."""
        return self.items

    @property
    def capped(self) -> bool:
        """Whether x is proved here."""
        return not self.follows

    @cached_property
    def _ranges(self) -> list[RangeBits]:
        slack = [RangeBits(self.cap)] if self.capped else []
        return slack + [RangeBits(most) for _, most in self.digits] * self.width

    @cached_property
    def extras(self) -> int:
        """Bits besides x and Y."""
        return sum(map(len, self._ranges))

    def extra_bits(self, rows: int, payload: Elements) -> Elements:
        """Of a device with so many rows, (width,) the payload of any of them."""
        values = [self.cap - rows] if self.capped else []
        for number in payload.tolist() if self.digits else []:
            digits = dict.fromkeys(range(len(self.digits)), 0)
            for j in sorted(digits, key=lambda j: -self.digits[j][0]):
                weight, most = self.digits[j]
                digits[j] = min(number // weight, most)
                number -= weight * digits[j]
            values += digits.values()
        return np.concatenate([np.zeros(0, np.uint64), *(r.of(v) for r, v in zip(self._ranges, values))])

    def _values(self, extras: Elements) -> list[int]:
        """The numbers that the bits stand for, or shares of them."""
        ends = np.cumsum([len(one) for one in self._ranges])[:-1]
        return [kind.value(bits) for kind, bits in zip(self._ranges, np.split(extras, ends))]

    def _extra_inputs(
        self, extras: Elements, s: Elements, shared: int, moved: Elements, payload: int, one: int
    ) -> Inputs:
        """Bits, the cap by s[-1], and the same payload: `shared` is Σ v x, `moved` t, `payload` Σ v y."""
        a, b, linear = extras, multiplied(s[:-1], subtracted(extras, np.full(len(extras), one, np.uint64))), 0
        values = self._values(extras) if self._ranges else []
        if self.capped:
            linear += int(s[-1]) * (values.pop(0) - self.cap * one)
        if self.digits:
            weights = [weight for weight, _ in self.digits] * self.width
            numbers = [weight * value for weight, value in zip(weights, values)]
            of = len(self.digits)
            whole = sum(int(t) * sum(numbers[i * of : (i + 1) * of]) for i, t in enumerate(moved)) % MODULUS
            a, b = np.append(a, np.uint64(shared)), np.append(b, np.uint64(whole))
            linear -= payload
        return Inputs(a, b, linear)

    @cached_property
    def _declared(self) -> str:
        spelled = b"" if self.shown is None else self.shown.astype("<i8").tobytes()
        shown = "all" if self.shown is None else hashlib.sha256(spelled).hexdigest()
        return f"{self.items} {self.cap} {self.width} {self.digits} {shown}"

    def visible(self, rows: Elements) -> Elements:
        """What is released of (items, numbers): zeros for the others."""
        if self.shown is not None:
            hidden = np.ones(self.items, np.bool_)
            hidden[self.shown] = False
            rows[hidden] = 0
        return rows.ravel()

    def checked(self, index: Longs, numbers: Elements) -> tuple[Longs, Elements]:
        """The rows of a device that find a bin, ascending; refuses what cannot be proved."""
        if len(index) > self.cap or (numbers[:, :1] != 1).any() or numbers.shape[1] != 1 + self.width:
            raise FederationError(
                f"a device must send at most {self.cap} rows of 1 and {self.width} numbers, but it has "
                f"{len(index)} rows of {numbers.shape[1]}; take fewer items."
            )
        kept = np.array(sorted(row for row, _ in assigned(self.bins, index.tolist()).values()), np.int64)
        return index[kept], numbers[kept]


@dataclass(frozen=True, eq=False)
class DenseRows(DeclaredRows):
    """All rows as numbers: x, then Y, then the bits."""

    @property
    def capped(self) -> bool:
        """Bits are proved anyway."""
        return True

    @property
    def length(self) -> int:
        """Numbers in the vector."""
        return self.items * (1 + self.width) + self.extras

    @property
    def challenges(self) -> int:
        """Numbers t, e, s of x, v, s of the bits, and that of the cap."""
        return self.width + 2 * self.items + self.items * bool(self.digits) + self.extras + 1

    @cached_property
    def gadget(self) -> ProductGadget:
        """One product for each item and each bit, and one for the payload."""
        return ProductGadget.of(self.items + self.extras + bool(self.digits))

    @property
    def parameters(self) -> bytes:
        """What it depends on."""
        return f"dense rows {self._declared}".encode()

    def vector(self, own: Sequence[Longs]) -> Elements:
        """Of rows without a payload."""
        (index,) = own
        return self.of_rows(index, np.ones((len(index), 1), np.uint64))

    def of_rows(self, index: Longs, numbers: Elements) -> Elements:
        """Of the places of the items among all, ascending, and their rows: flag, payload."""
        index, numbers = self.checked(index, numbers)
        whole = np.zeros((self.items, 1 + self.width), np.uint64)
        whole[index] = numbers
        payload = numbers[0, 1:] if len(numbers) else np.zeros(self.width, np.uint64)
        return np.concatenate([whole[:, 0], whole[:, 1:].ravel(), self.extra_bits(len(index), payload)])

    def inputs(self, x: Elements, r: Elements, one: int) -> Inputs:
        """Of the vector, or of a share of it."""
        n, end = self.items, self.items * (1 + self.width)
        flags, payloads, extras = x[:n], x[n:end].reshape(n, self.width), x[end:]
        sizes = [self.width, n, n, n * bool(self.digits)]
        t, e, s, v, more = np.split(r, np.cumsum(sizes))
        y = row_inners(payloads, t)
        b = added(multiplied(s, subtracted(flags, np.full(n, one, np.uint64))), multiplied(e, y))
        shared, payload = (inner(v, flags), inner(v, y)) if self.digits else (0, 0)
        extra = self._extra_inputs(extras, more, int(shared), t, int(payload), one)
        linear = extra.linear + int(more[-1]) * int(total(flags)) - int(inner(e, y))
        return Inputs(np.concatenate([flags, extra.a]), np.concatenate([b, extra.b]), linear % MODULUS)

    def released(self, x: Elements) -> Elements:
        """The rows, flag and payload side by side."""
        n, end = self.items, self.items * (1 + self.width)
        return self.visible(np.column_stack([x[:n], x[n:end].reshape(n, self.width)]))


class RowsShare(Protocol):
    """Rows in bins: one's own, or what a key stands for."""

    extras: Elements

    def folded(self, r: Elements, t: Elements) -> Folded:
        """The sums that a proof needs."""

    def of_items(self, flags: Elements) -> Elements:
        """x, from the flags of all places."""


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """The rows of a device in their bins: at most one in each."""

    bins: Bins
    index: Longs  # (bins,) the item; -1: none
    at: Longs  # (bins,) its position in the bin; 0 where there is none
    numbers: Elements  # (bins, 1 + width)
    extras: Elements

    def folded(self, r: Elements, t: Elements) -> Folded:
        """Of each bin one place."""
        width, here = self.bins.width, r[self.at]
        flags = np.zeros((self.bins.places, 1), np.uint64)
        flags[np.arange(self.bins.count) * width + self.at, 0] = self.numbers[:, 0]
        y, weighted = row_inners(self.numbers[:, 1:].copy(), t), multiplied(here, self.numbers[:, 0].copy())
        return Folded(flags, weighted, multiplied(here, weighted), y, multiplied(here, y))

    def of_items(self, flags: Elements) -> Elements:
        """x, without the places of all items."""
        return self.linked

    @property
    def linked(self) -> Elements:
        """x."""
        x = np.zeros(self.bins.items, np.uint64)
        there = self.index >= 0
        x[self.index[there]] = self.numbers[there, 0]
        return x


@dataclass(frozen=True, eq=False)
class KeyShare:
    """What one of two keys stands for."""

    bins: Bins
    key: Corrections
    roots: Elements  # (bins, 2)
    party: int
    extras: Elements

    def folded(self, r: Elements, t: Elements) -> Folded:
        """Of all places."""
        return fold(self.key, self.roots, self.party, self.bins.width, r, t)

    def of_items(self, flags: Elements) -> Elements:
        """The share of x."""
        return gathered(flags, place_table(self.bins)).ravel()

    def add_to(self, sums: Elements) -> None:
        """Add all numbers to (places, numbers)."""
        add_expanded(self.key, self.roots, self.party, self.bins.width, sums)


@dataclass(frozen=True, eq=False)
class KeyRows(DeclaredRows):
    """Rows by keys."""

    @property
    def challenges(self) -> int:
        """Numbers r, t, τ, σ, v, s of x, s of the bits, and that of the cap."""
        bins = self.bins.count * (2 if self.digits else 1)
        return self.bins.width + self.width + 1 + bins + self.items * self.capped + self.extras + 1

    @cached_property
    def gadget(self) -> ProductGadget:
        """One product for each bin and each bit, of x too, and one for the payload."""
        return ProductGadget.of(self.bins.count + self.items * self.capped + self.extras + bool(self.digits))

    @property
    def parameters(self) -> bytes:
        """What it depends on."""
        return f"rows by keys {self._declared} {self.follows}".encode()

    def of_rows(self, index: Longs, numbers: Elements) -> BinnedRows:
        """Of the places of the items among all, ascending, and their rows: flag, payload."""
        index, numbers = self.checked(index, numbers)
        bins = self.bins
        held, at = np.full(bins.count, -1, np.int64), np.zeros(bins.count, np.int64)
        rows = np.zeros((bins.count, 1 + self.width), np.uint64)
        for bin, (row, position) in assigned(bins, index.tolist()).items():
            held[bin], at[bin], rows[bin] = index[row], position, numbers[row]
        payload = numbers[0, 1:] if len(numbers) else np.zeros(self.width, np.uint64)
        return BinnedRows(bins, held, at, rows, self.extra_bits(len(index), payload))

    def released(self, x: BinnedRows) -> Elements:
        """The rows as they are added up."""
        whole = np.zeros((self.items, 1 + self.width), np.uint64)
        there = x.index >= 0
        whole[x.index[there]] = x.numbers[there]
        return self.visible(whole)

    def inputs(self, x: RowsShare, r: Elements, one: int) -> Inputs:
        """Of one's own rows, or of what a key stands for."""
        bins = self.bins
        sizes = [
            bins.width,
            self.width,
            1,
            bins.count,
            bins.count * bool(self.digits),
            self.items * self.capped,
        ]
        places, t, tau, sigma, v, s, more = np.split(r, np.cumsum(sizes))
        found = x.folded(places, t)
        items = x.of_items(found.flags)
        a = found.weighted
        b = multiplied(sigma, added(a, scaled(found.payload, tau[0])))
        linear = -int(inner(sigma, added(found.squared, scaled(found.moved, tau[0]))))
        shared, payload = 0, 0
        if self.digits:
            in_bins = row_totals(found.flags.reshape(bins.count, bins.width))
            shared, payload = int(inner(v, in_bins)), int(inner(v, found.payload))
        extra = self._extra_inputs(x.extras, more, shared, t, payload, one)
        linear += extra.linear
        a, b = np.concatenate([a, extra.a]), np.concatenate([b, extra.b])
        if self.capped:
            linear += int(more[-1]) * int(total(items))
            a = np.concatenate([a, items])
            b = np.concatenate([b, multiplied(s, subtracted(items, np.full(self.items, one, np.uint64)))])
        return Inputs(a, b, linear % MODULUS, items)
