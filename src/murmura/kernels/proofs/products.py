"""The one gadget of our circuits, a sum of so many products, compiled: its prover and its verifiers.

A circuit is Σ a_k b_k + l = 0, where a, b and l are linear in the vector that is shared. `chunk` products are
one call of the gadget. The order of a proof and of a verifier's share is that of the reference implementation,
`tests.channel.plain_proofs`: `prove` and `query` give what it gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmura.core.errors import FederationError
from murmura.kernels.compiled import compiled
from murmura.kernels.proofs.field import (
    MODULUS,
    Elements,
    add,
    inverse,
    multiply,
    power,
    root_of_unity,
    subtract,
    total,
)

MOST_CALLS = 2**12 - 1  # so that a false proof passes with a probability below 2^-50
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@dataclass(frozen=True)
class ProductGadget:
    """So many products, in calls of one chunk each."""

    products: int
    chunk: int

    @staticmethod
    def of(products: int) -> ProductGadget:
        """With the shortest proof; of equal ones that of fewer calls."""
        lengths = [2**bits for bits in range(1, (MOST_CALLS + 1).bit_length())]
        made = [ProductGadget(products, -(-products // (length - 1))) for length in lengths]
        return min(made, key=lambda one: (one.proof_length, one.calls))

    @property
    def calls(self) -> int:
        """How often the gadget is called."""
        return -(-self.products // self.chunk)

    @cached_property
    def wire_length(self) -> int:
        """Values of a wire polynomial: one that is random, one for each call, zeros to a power of two."""
        return 1 << self.calls.bit_length()

    @property
    def blinds(self) -> int:
        """Random numbers that a prover needs: one for each wire."""
        return 2 * self.chunk

    @property
    def proof_length(self) -> int:
        """Numbers in a proof: the random values, and the gadget polynomial by its values."""
        return self.blinds + 2 * self.wire_length - 1

    @property
    def verifier_length(self) -> int:
        """Numbers in a verifier's share: of the output, of each wire at the point, of the gadget polynomial."""
        return self.blinds + 2

    def forbids(self, point: int) -> bool:
        """Whether a point of the test is a root of unity, where a wire would show what it carries."""
        return pow(point, 2 * self.wire_length, MODULUS) == 1

    def prove(self, a: Elements, b: Elements, blinds: Elements) -> Elements:
        """The proof for these inputs of all products."""
        return _prove(a, b, blinds, self.chunk, self.wire_length)

    def query(self, a: Elements, b: Elements, linear: int, proof: Elements, point: int) -> Elements:
        """One verifier's share of the check, from its shares of the inputs and of the proof."""
        if self.forbids(point):
            raise FederationError("the point of a proof's test must be no root of unity; draw another one.")
        return _query(
            a, b, np.uint64(linear), proof, np.uint64(point), self.chunk, self.calls, self.wire_length
        )

    def accepts(self, verifier: Elements) -> bool:
        """Whether the sum of all verifiers' shares shows a valid vector."""
        left, right = verifier[1:-1:2].copy(), verifier[2:-1:2].copy()
        return int(verifier[0]) == 0 and _products(left, right) == int(verifier[-1])


@compiled
def _products(a: Elements, b: Elements) -> np.uint64:
    found = _ZERO
    for i in range(len(a)):
        found = add(found, multiply(a[i], b[i]))
    return found


@compiled
def transform(values: Elements, root: np.uint64) -> None:
    """In place: from coefficients to values at all powers of a root of unity of their number."""
    n = len(values)
    at = 0
    for i in range(1, n):  # bits of the places in reverse order
        bit = n >> 1
        while at & bit:
            at ^= bit
            bit >>= 1
        at |= bit
        if i < at:
            values[i], values[at] = values[at], values[i]
    size = 2
    while size <= n:
        step = power(root, n // size)
        for first in range(0, n, size):
            turned = _ONE
            for i in range(first, first + size // 2):
                even, odd = values[i], multiply(values[i + size // 2], turned)
                values[i], values[i + size // 2] = add(even, odd), subtract(even, odd)
                turned = multiply(turned, step)
        size *= 2


@compiled
def _between(values: Elements) -> Elements:
    """From values at the roots of unity of their number, those at the odd ones of twice as many."""
    n = len(values)
    found = values.copy()
    transform(found, inverse(root_of_unity(n)))
    turned, step = inverse(np.uint64(n)), root_of_unity(2 * n)
    for i in range(n):
        found[i] = multiply(found[i], turned)
        turned = multiply(turned, step)
    transform(found, root_of_unity(n))
    return found


@compiled
def _wire(inputs: Elements, blind: np.uint64, first: int, chunk: int, length: int) -> Elements:
    """The values of one wire polynomial: its input in every call after the random one."""
    values = np.zeros(length, np.uint64)
    values[0] = blind
    for call in range(length - 1):
        at = call * chunk + first
        if at < len(inputs):
            values[1 + call] = inputs[at]
    return values


@compiled
def _prove(a: Elements, b: Elements, blinds: Elements, chunk: int, length: int) -> Elements:
    proof = np.zeros(2 * chunk + 2 * length - 1, np.uint64)
    proof[: 2 * chunk] = blinds
    polynomial = proof[2 * chunk :]
    for j in range(chunk):
        left, right = _wire(a, blinds[2 * j], j, chunk, length), _wire(b, blinds[2 * j + 1], j, chunk, length)
        for k in range(length):
            polynomial[2 * k] = add(polynomial[2 * k], multiply(left[k], right[k]))
        left, right = _between(left), _between(right)
        for k in range(length - 1):
            polynomial[2 * k + 1] = add(polynomial[2 * k + 1], multiply(left[k], right[k]))
    return proof


@compiled
def _weights(length: int, point: np.uint64) -> Elements:
    """What the values at roots of unity count in the value at a point that is none of them."""
    root, turned = root_of_unity(length), _ONE
    whole = multiply(subtract(power(point, length), _ONE), inverse(np.uint64(length)))
    weights = np.empty(length, np.uint64)
    for k in range(length):
        weights[k] = multiply(multiply(turned, whole), inverse(subtract(point, turned)))
        turned = multiply(turned, root)
    return weights


@compiled
def _query(
    a: Elements,
    b: Elements,
    linear: np.uint64,
    proof: Elements,
    point: np.uint64,
    chunk: int,
    calls: int,
    length: int,
) -> Elements:
    verifier = np.zeros(2 * chunk + 2, np.uint64)
    polynomial = proof[2 * chunk :]
    verifier[0] = add(linear, total(polynomial[2 : 2 * calls + 1 : 2]))
    wires = _weights(length, point)
    for j in range(chunk):
        verifier[1 + 2 * j] = multiply(wires[0], proof[2 * j])
        verifier[2 + 2 * j] = multiply(wires[0], proof[2 * j + 1])
    for k in range(len(a)):
        weight, j = wires[1 + k // chunk], k % chunk
        verifier[1 + 2 * j] = add(verifier[1 + 2 * j], multiply(weight, a[k]))
        verifier[2 + 2 * j] = add(verifier[2 + 2 * j], multiply(weight, b[k]))
    weights, root = _weights(2 * length, point), root_of_unity(2 * length)
    # the value at the last root is not sent: a polynomial of this degree has Σ value · root = 0
    last, turned = _ZERO, _ONE
    for k in range(2 * length - 1):
        verifier[2 * chunk + 1] = add(verifier[2 * chunk + 1], multiply(weights[k], polynomial[k]))
        last = add(last, multiply(polynomial[k], turned))
        turned = multiply(turned, root)
    last = multiply(subtract(_ZERO, root), last)
    verifier[2 * chunk + 1] = add(verifier[2 * chunk + 1], multiply(weights[2 * length - 1], last))
    return verifier
