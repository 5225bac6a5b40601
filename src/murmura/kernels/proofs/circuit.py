"""What our circuits have in common: a vector that is shared, and what must hold for it.

A circuit is Σ a_k b_k + l = 0 with a, b and l linear in the vector x and in `one`, which is 1 for the whole
vector and the share of 1 for a share of it. Each condition is multiplied by random numbers of its own, the
challenge r, drawn once x is fixed. A sum of conditions that do not all hold is a polynomial in r that is not
zero, of degree 2 at most: it is 0 with a probability of at most 2 / p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from murmura.core.arrays import Longs
from murmura.kernels.proofs.field import HALF, MODULUS, Elements, added, inner
from murmura.kernels.proofs.products import ProductGadget


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of all products, and what is added to their sum: of a vector, or of a share of it."""

    a: Elements
    b: Elements
    linear: int  # below p
    linked: Elements | None = None  # what says whose vector it is, where it is no part of the vector


class Circuit(Protocol):
    """What is 0 if a vector is valid; the vector has numbers of the field, or a form of its own."""

    @property
    def challenges(self) -> int:
        """Random numbers that the conditions are multiplied with."""

    @property
    def gadget(self) -> ProductGadget:
        """The products."""

    @property
    def linked(self) -> int:
        """So many first numbers of the vector say whose vector it is, in every exchange that they link."""

    @property
    def parameters(self) -> bytes:
        """Everything that a proof depends on besides the vector, in one spelling."""

    def inputs(self, x: Any, r: Elements, one: int) -> Inputs:
        """The inputs of the products."""

    def released(self, x: Any) -> Elements:
        """What is added up and released; the rest of a vector is for its proof alone."""


class ProvenVector(Circuit, Protocol):
    """A vector of numbers of the field, and its circuit."""

    @property
    def length(self) -> int:
        """Numbers in the vector."""

    def vector(self, own: Sequence[Longs]) -> Elements:
        """A valid vector, of the places of the items that each person shares."""

    def inputs(self, x: Elements, r: Elements, one: int) -> Inputs:
        """The inputs of the products."""

    def released(self, x: Elements) -> Elements:
        """What is added up and released; the rest of a vector is for its proof alone."""


def weights_below(most: int) -> list[int]:
    """What the bits of a number of at most this count: powers of two, the last one smaller."""
    powers = [1 << i for i in range(most.bit_length() - 1)]
    return [*powers, most - sum(powers)]


def bits_of(value: int, most: int) -> list[int]:
    """A number of at most `most` by its bits."""
    *powers, last = weights_below(most)
    over = value > sum(powers)
    rest = value - last if over else value
    return [rest >> i & 1 for i in range(len(powers))] + [int(over)]


def elements(values: list[int]) -> Elements:
    """Whole numbers, negative ones included, as numbers of the field."""
    return np.array([value % MODULUS for value in values], np.uint64)


@dataclass(frozen=True)
class RangeBits:
    """A number from 0 to `most` by its bits."""

    most: int

    @cached_property
    def weights(self) -> Elements:
        """What each bit counts."""
        return elements(weights_below(self.most))

    def __len__(self) -> int:
        return len(self.weights)

    def of(self, value: int) -> Elements:
        """The bits of a number."""
        return elements(bits_of(value, self.most))

    def value(self, bits: Elements) -> int:
        """The number of these bits, or of shares of them."""
        return int(inner(bits, self.weights))


def prove(circuit: Circuit, x: Any, r: Elements, blinds: Elements) -> Elements:
    """A proof that x is valid."""
    found = circuit.inputs(x, r, 1)
    return circuit.gadget.prove(found.a, found.b, blinds)


def query(circuit: Circuit, x: Any, proof: Elements, r: Elements, point: int, one: int = HALF) -> Elements:
    """One aggregator's share of the check of its shares; with `one` 1 the check of a whole vector."""
    found = circuit.inputs(x, r, one)
    return circuit.gadget.query(found.a, found.b, found.linear, proof, point)


def accepts(circuit: Circuit, *shares: Elements) -> bool:
    """Whether all shares of the check together show a valid vector."""
    whole = shares[0]
    for share in shares[1:]:
        whole = added(whole, share)
    return circuit.gadget.accepts(whole)
