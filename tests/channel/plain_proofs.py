"""Fully linear proofs (Boneh, Boyle, Corrigan-Gibbs, Gilboa and Ishai, CRYPTO 2019, theorem 4.3).

They answer the test vectors of draft-irtf-cfrg-vdaf. A client splits a vector x into additive shares, one for
each verifier, and proves that a circuit C(x, r) is zero. C is linear in x except for its gadgets. For a gadget
G of arity a that is called m times there are

    f_1 … f_a           wire polynomials: f_j(1) is random, f_j(ωᵏ) is input j of call k; ω has order p > m
    g = G(f_1 … f_a)    the gadget polynomial, of degree deg(G)·(p - 1)

The proof is the random values, and g by its values at roots of unity. It is shared like x. A verifier computes
its share of C with g(ωᵏ) in place of the output of G, and its shares of f_j(t) and g(t) at a random t. All
shares together show that C is zero and that G(f_1(t) … f_a(t)) = g(t). A false proof passes with a probability
of at most deg(g) / (modulus - 2 deg(g)) for each gadget. One verifier's share says nothing about x.

This is the plain form, on whole numbers of Python: the reference implementation of faster ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from murmura.core.errors import FederationError


@dataclass(frozen=True)
class PrimeField:
    """Whole numbers modulo a prime, with roots of unity of every order 2ᵏ up to `two_power`."""

    modulus: int
    generator: int  # of the group of order `two_power`
    two_power: int

    def root(self, order: int) -> int:
        """A root of unity of this order, a power of two."""
        return pow(self.generator, self.two_power // order, self.modulus)

    def inverse(self, value: int) -> int:
        """The number whose product with this one is 1."""
        return pow(value, -1, self.modulus)

    @property
    def size(self) -> int:
        """Bytes of a number."""
        return (self.modulus.bit_length() + 7) // 8


def _field(modulus: int, base: int, two_power: int) -> PrimeField:
    return PrimeField(modulus, pow(base, (modulus - 1) // two_power, modulus), two_power)


FIELD64 = _field(2**64 - 2**32 + 1, 7, 2**32)
FIELD128 = _field(2**128 - 28 * 2**64 + 1, 7, 2**66)


def power_of_two(least: int) -> int:
    """The smallest power of two that is no smaller."""
    return 1 << (least - 1).bit_length()


def values_of(field: PrimeField, coefficients: Sequence[int], root: int) -> list[int]:
    """The values of a polynomial at all powers of a root of unity; as many as it has coefficients."""
    n = len(coefficients)
    if n == 1:
        return list(coefficients)
    even, odd = (values_of(field, coefficients[half::2], root * root % field.modulus) for half in (0, 1))
    turned, power = [], 1
    for value in odd:
        turned.append(value * power % field.modulus)
        power = power * root % field.modulus
    return [(a + b) % field.modulus for a, b in zip(even, turned)] + [
        (a - b) % field.modulus for a, b in zip(even, turned)
    ]


def coefficients_of(field: PrimeField, values: Sequence[int]) -> list[int]:
    """The polynomial that has these values at the roots of unity of their number."""
    n = len(values)
    back, share = field.inverse(field.root(n)), field.inverse(n)
    return [value * share % field.modulus for value in values_of(field, values, back)]


def at_more_roots(field: PrimeField, values: Sequence[int], count: int) -> list[int]:
    """The values of the same polynomial at the roots of unity of a larger number."""
    padded = coefficients_of(field, values) + [0] * (count - len(values))
    return values_of(field, padded, field.root(count))


def completed(field: PrimeField, values: Sequence[int]) -> list[int]:
    """All values at roots of unity of a polynomial of a degree below the number of those that are given."""
    p, known, count = field.modulus, len(values), power_of_two(len(values))
    points = [pow(field.root(count), k, p) for k in range(count)]
    found = list(values)
    weights = []
    for i in range(known):
        product = 1
        for j in range(known):
            product = product * (points[i] - points[j]) % p if i != j else product
        weights.append(values[i] * field.inverse(product))
    for at in points[known:]:
        whole = 1
        for point in points[:known]:
            whole = whole * (at - point) % p
        found.append(whole * sum(w * field.inverse(at - x) for w, x in zip(weights, points)) % p)
    return found


def value_at(field: PrimeField, values: Sequence[int], t: int) -> int:
    """The value at t, no root of unity, of the polynomial with these values at roots of unity."""
    p, n = field.modulus, len(values)
    root, point, total = field.root(n), 1, 0
    for value in values:
        total += value * point * field.inverse(t - point)
        point = point * root % p
    return total * (pow(t, n, p) - 1) * field.inverse(n) % p


@dataclass(frozen=True)
class Gadget:
    """The part of a circuit that is not linear, and how often it is called."""

    arity: int
    degree: int
    calls: int
    apply: Callable[[Sequence[int]], int]  # not reduced by the modulus

    @property
    def wire_length(self) -> int:
        """Values of a wire polynomial: one that is random, one for each call."""
        return power_of_two(1 + self.calls)

    @property
    def polynomial_length(self) -> int:
        """Values by which the gadget polynomial is sent."""
        return self.degree * (self.wire_length - 1) + 1

    @property
    def proof_length(self) -> int:
        """Numbers in a proof for this gadget."""
        return self.arity + self.polynomial_length


def product_sum(products: int, calls: int) -> Gadget:
    """The sum of so many products of two inputs each."""
    return Gadget(2 * products, 2, calls, lambda x: sum(a * b for a, b in zip(x[::2], x[1::2])))


Call = Callable[[Sequence[int]], int]


class Circuit(Protocol):
    """What is zero for valid vectors."""

    field: PrimeField
    length: int  # of x
    challenges: int  # random numbers that the circuit takes
    outputs: int
    gadgets: tuple[Gadget, ...]

    def evaluate(self, x: Sequence[int], r: Sequence[int], shares: int, calls: Sequence[Call]) -> list[int]:
        """The outputs; `calls` answer for the gadgets. A constant is divided by the number of shares."""


def proof_length(circuit: Circuit) -> int:
    """Numbers in a proof."""
    return sum(gadget.proof_length for gadget in circuit.gadgets)


def query_length(circuit: Circuit) -> int:
    """Random numbers that verifiers agree on and clients do not know."""
    return len(circuit.gadgets) + (circuit.outputs if circuit.outputs > 1 else 0)


def prove(circuit: Circuit, x: Sequence[int], blinds: Sequence[int], r: Sequence[int]) -> list[int]:
    """A proof that x is valid, with one random number for each wire."""
    field, rest = circuit.field, list(blinds)
    wires: list[list[list[int]]] = []
    for gadget in circuit.gadgets:
        wires.append([[rest.pop(0)] for _ in range(gadget.arity)])

    def calls(gadget: Gadget, recorded: list[list[int]]) -> Call:
        def call(inputs: Sequence[int]) -> int:
            for wire, value in zip(recorded, inputs, strict=True):
                wire.append(value % field.modulus)
            return gadget.apply(inputs) % field.modulus

        return call

    circuit.evaluate(x, r, 1, [calls(*each) for each in zip(circuit.gadgets, wires)])
    proof: list[int] = []
    for gadget, recorded in zip(circuit.gadgets, wires):
        count = power_of_two(gadget.polynomial_length)
        padded = [wire + [0] * (gadget.wire_length - len(wire)) for wire in recorded]
        spread = zip(*(at_more_roots(field, wire, count) for wire in padded))
        polynomial = [gadget.apply(inputs) % field.modulus for inputs in spread]
        proof += [wire[0] for wire in recorded] + polynomial[: gadget.polynomial_length]
    return proof


def query(
    circuit: Circuit,
    x: Sequence[int],
    proof: Sequence[int],
    query: Sequence[int],
    r: Sequence[int],
    shares: int,
) -> list[int]:
    """One verifier's share of the check, from its shares of x and of the proof."""
    field, rest = circuit.field, list(proof)
    weights, points = query[: -len(circuit.gadgets)] or [1], query[-len(circuit.gadgets) :]
    wires, polynomials = [], []
    for gadget in circuit.gadgets:
        part, rest = rest[: gadget.proof_length], rest[gadget.proof_length :]
        wires.append([[blind] for blind in part[: gadget.arity]])
        known = completed(field, part[gadget.arity :])
        polynomials.append(known)

    def calls(gadget: Gadget, recorded: list[list[int]], polynomial: list[int]) -> Call:
        step = len(polynomial) // gadget.wire_length

        def call(inputs: Sequence[int]) -> int:
            for wire, value in zip(recorded, inputs, strict=True):
                wire.append(value % field.modulus)
            return polynomial[step * (len(recorded[0]) - 1)]

        return call

    outputs = circuit.evaluate(x, r, shares, [calls(*one) for one in zip(circuit.gadgets, wires, polynomials)])
    verifier = [sum(weight * output for weight, output in zip(weights, outputs, strict=True)) % field.modulus]
    for gadget, recorded, polynomial, t in zip(circuit.gadgets, wires, polynomials, points):
        if pow(t, len(polynomial), field.modulus) == 1:
            raise FederationError("the point of a proof's test must be no root of unity; draw another one.")
        padded = [wire + [0] * (gadget.wire_length - len(wire)) for wire in recorded]
        verifier += [value_at(field, wire, t) for wire in padded]
        verifier.append(value_at(field, polynomial, t))
    return verifier


def accepts(circuit: Circuit, verifier: Sequence[int]) -> bool:
    """Whether the sum of all verifiers' shares shows a valid vector."""
    rest = list(verifier[1:])
    valid = verifier[0] == 0
    for gadget in circuit.gadgets:
        inputs, result = rest[: gadget.arity], rest[gadget.arity]
        rest = rest[gadget.arity + 1 :]
        valid = valid and gadget.apply(inputs) % circuit.field.modulus == result
    return valid
