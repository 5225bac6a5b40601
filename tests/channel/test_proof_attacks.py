"""Vectors that break one condition: no proof of them is accepted, however it is made.

Beside each check stands a victim without it, where the same attack succeeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pytest

from murmura.kernels.proofs.circuit import Inputs, ProvenVector, accepts, prove, query
from murmura.kernels.proofs.field import MODULUS, Elements, root_of_unity
from murmura.kernels.proofs.products import ProductGadget
from tests.channel.false_vectors import FalseVector, false_vectors
from tests.channel.proven_worlds import KINDS, World, drawn, world

TRIES, ALL = 1500, 100_000
Way = Callable[[ProvenVector, Elements, Elements, np.random.Generator], Elements]


def honest(circuit: ProvenVector, x: Elements, r: Elements, rng: np.random.Generator) -> Elements:
    """The proof that an honest prover makes of it."""
    return prove(circuit, x, r, drawn(rng, circuit.gadget.blinds))


def balanced(circuit: ProvenVector, x: Elements, r: Elements, rng: np.random.Generator) -> Elements:
    """One whose output is zero, though the gadget polynomial is then no product of its wires."""
    return with_output_zero(circuit, x, r, honest(circuit, x, r, rng))


def of_another(circuit: ProvenVector, x: Elements, r: Elements, rng: np.random.Generator) -> Elements:
    """One for the challenge of another report, with output zero in this one."""
    return with_output_zero(circuit, x, r, honest(circuit, x, drawn(rng, circuit.challenges), rng))


def at_random(circuit: ProvenVector, x: Elements, r: Elements, rng: np.random.Generator) -> Elements:
    """Any numbers, with output zero."""
    return with_output_zero(circuit, x, r, drawn(rng, circuit.gadget.proof_length))


WAYS: tuple[Way, ...] = (honest, balanced, of_another, at_random)


def with_output_zero(circuit: ProvenVector, x: Elements, r: Elements, proof: Elements) -> Elements:
    output = int(query(circuit, x, proof, r, 5, one=1)[0])
    first_call = circuit.gadget.blinds + 2
    proof[first_call] = (int(proof[first_call]) - output) % MODULUS
    return proof


def passes(circuit: ProvenVector, x: Elements, way: Way, rng: np.random.Generator) -> bool:
    """Whether both aggregators together accept a proof for a challenge that came after the vector.

    What they find adds up to what is found of the whole (test_proven_circuits.py), at half of the work.
    """
    r = drawn(rng, circuit.challenges)
    proof, point = way(circuit, x, r, rng), int(drawn(rng, 1)[0])
    return accepts(circuit, query(circuit, x, proof, r, point, one=1))


def lies(kind: str, rng: np.random.Generator) -> Iterator[tuple[World, FalseVector]]:
    """Without an end: every false vector of one circuit after the other."""
    for people in cycle((1, 2)):
        there = world(kind, people, rng)
        for lie in false_vectors(there, rng):
            yield there, lie


def accepted(kind: str, tries: int) -> list[str]:
    """What passes of so many tries, each way to prove in turn."""
    rng, found = np.random.default_rng([KINDS.index(kind), tries]), []
    for number, (there, lie) in zip(range(tries), lies(kind, rng)):
        way = WAYS[number % len(WAYS)]
        if passes(there.circuit, lie.vector, way, rng):
            found.append(f"{lie.name}, {way.__name__}")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_false_is_accepted(kind: str) -> None:
    assert accepted(kind, TRIES) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_false_is_accepted_of_a_hundred_thousand(kind: str) -> None:
    assert accepted(kind, ALL) == []


@dataclass(frozen=True, eq=False)
class Without:
    """A victim: a circuit that does not look at some of its conditions."""

    circuit: ProvenVector
    dropped: list[int]

    def __getattr__(self, name: str) -> object:
        return getattr(self.circuit, name)

    def inputs(self, x: Elements, r: Elements, one: int) -> Inputs:
        kept = r.copy()
        kept[self.dropped] = 0
        return self.circuit.inputs(x, kept, one)


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_without_its_condition_each_of_them_is_accepted(kind: str, people: int) -> None:
    rng = np.random.default_rng([8, people])
    there = world(kind, people, rng)
    names = set()
    for lie in false_vectors(there, rng):
        assert not passes(there.circuit, lie.vector, honest, rng), lie.name
        victim: ProvenVector = Without(there.circuit, lie.dropped)  # type: ignore[assignment]
        assert passes(victim, lie.vector, honest, rng), lie.name
        names.add(lie.name)
    assert len(names) > 10


def test_a_challenge_that_is_known_before_the_vector_lets_a_lie_in() -> None:
    """Two words that are off make up for each other, if their random numbers are known."""
    rng = np.random.default_rng(9)
    there = world("pairs", 1, rng)
    c, x = there.circuit, there.valid(rng)
    r = drawn(rng, c.challenges)
    words = np.arange(c.length - len(c.released(x)), c.length)

    def weight(at: int) -> int:
        """What a word counts in the check."""
        one = np.zeros(c.length, np.uint64)
        one[at] = 1
        return (c.inputs(one, r, 0).linear - c.inputs(np.zeros_like(one), r, 0).linear) % MODULUS

    first, second = int(words[0]), int(words[-1])
    lie = x.copy()
    lie[first] = (int(lie[first]) + 1) % MODULUS
    lie[second] = (int(lie[second]) - weight(first) * pow(weight(second), -1, MODULUS)) % MODULUS
    proof, point = prove(c, lie, r, drawn(rng, c.gadget.blinds)), int(drawn(rng, 1)[0])
    assert accepts(c, query(c, lie, proof, r, point, one=1))
    assert not any(passes(c, lie, way, rng) for way in WAYS for _ in range(50))


def test_a_point_that_is_known_before_the_proof_lets_a_lie_in() -> None:
    """The gadget polynomial is bent where nobody looks."""
    rng = np.random.default_rng(10)
    there = world("counts", 1, rng)
    c, gadget = there.circuit, there.circuit.gadget
    lie = next(iter(false_vectors(there, rng))).vector
    r, point = drawn(rng, c.challenges), int(drawn(rng, 1)[0])
    proof = honest(c, lie, r, rng)

    def found(at: int) -> tuple[int, int]:
        """What one value of the gadget polynomial adds to the output, and to its value at the point."""
        one = np.zeros_like(proof)
        one[at] = 1
        told = query(c, np.zeros_like(lie), one, np.zeros_like(r), point, one=0)
        return int(told[0]), int(told[-1])

    used, free = gadget.blinds + 2, gadget.blinds + 1  # the first call, and a value between two calls
    output = int(query(c, lie, proof, r, point, one=1)[0])
    bent = proof.copy()
    bent[used] = (int(bent[used]) - output * pow(found(used)[0], -1, MODULUS)) % MODULUS
    shift = -output * pow(found(used)[0], -1, MODULUS) * found(used)[1]
    bent[free] = (int(bent[free]) - shift * pow(found(free)[1], -1, MODULUS)) % MODULUS
    assert found(free)[0] == 0
    assert accepts(c, query(c, lie, bent, r, point, one=1))
    others = (int(one) for one in drawn(rng, 200))
    assert not any(accepts(c, query(c, lie, bent, r, other, one=1)) for other in others)


def test_two_answers_for_one_proof_show_what_is_proved() -> None:
    """A wire polynomial of one call is a line: two of its points show its input."""
    rng = np.random.default_rng(11)
    there = world("counts", 1, rng)
    c, x = there.circuit, there.valid(rng)
    gadget = ProductGadget(c.gadget.products, c.gadget.products)
    assert (gadget.calls, gadget.wire_length) == (1, 2)
    found = c.inputs(x, drawn(rng, c.challenges), 1)
    proof = gadget.prove(found.a, found.b, drawn(rng, gadget.blinds))
    points = [int(one) for one in drawn(rng, 2)]
    told = [gadget.query(found.a, found.b, found.linear, proof, point)[1:-1:2] for point in points]
    at, (t, s) = int(root_of_unity(2)), points
    slope = pow(t - s, -1, MODULUS)
    read = [(int(a) + (at - t) * (int(a) - int(b)) * slope) % MODULUS for a, b in zip(*told)]
    assert read == x.tolist()
    assert len({int(one) for one in told[0]} & {0, 1}) == 0  # one answer alone shows none


def test_a_proof_is_for_one_vector_alone() -> None:
    """Halves of two valid vectors, each with a good proof, do not go together."""
    rng = np.random.default_rng(12)
    for kind in KINDS:
        there = world(kind, 2, rng)
        c = there.circuit
        for _ in range(20):
            r, point = drawn(rng, c.challenges), int(drawn(rng, 1)[0])
            x, y = there.valid(rng), there.valid(rng)
            good = honest(c, x, r, rng)
            assert accepts(c, query(c, x, good, r, point, one=1))
            assert (x == y).all() or not accepts(c, query(c, y, good, r, point, one=1))
