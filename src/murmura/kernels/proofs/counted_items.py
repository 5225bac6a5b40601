"""The circuit of exact counts: for each person of a device a vector of bits, at most `cap` of them ones.

    x     people · items   1 for each item a person shares
    c     people · bits    by which Σ_i x_i is less than cap
    r     s, one for each number of x and c; u, one for each person

Every bit: s x (x - 1) is 0. Every person: u (Σ_i x_i + Σ_j weight_j c_j - cap) is 0. The bits add up to at most
items + cap, far below p, so the second is a statement about whole numbers. One product for each bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmura.core.arrays import Longs
from murmura.kernels.proofs.circuit import Inputs, RangeBits
from murmura.kernels.proofs.field import MODULUS, Elements, add_into, multiplied, subtracted, total
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
