"""Our circuits, compiled, are their plain form, number for number; the gadget answers the draft's vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from murmura.core.errors import FederationError, SettingError
from murmura.kernels.proofs.circuit import ProvenVector, accepts, elements, prove, query
from murmura.kernels.proofs.field import HALF, MODULUS, Elements, added, subtracted
from murmura.kernels.proofs.products import MOST_CALLS, ProductGadget
from murmura.kernels.proofs.weighted_items import WeightedCounts
from tests.channel import plain_proofs as proofs
from tests.channel import prio3, test_proofs
from tests.channel.plain_circuits import plain
from tests.channel.plain_proofs import FIELD64, Circuit
from tests.channel.proven_worlds import CAP, KINDS, drawn, world


def asked(circuit: ProvenVector, x: Elements, rng: np.random.Generator) -> tuple[Elements, Elements]:
    """What both aggregators find, of an honestly made proof."""
    r, blinds = drawn(rng, circuit.challenges), drawn(rng, circuit.gadget.blinds)
    proof, point = prove(circuit, x, r, blinds), int(drawn(rng, 1)[0])
    halves = drawn(rng, len(x)), drawn(rng, len(proof))
    others = subtracted(x, halves[0]), subtracted(proof, halves[1])
    return query(circuit, *halves, r, point), query(circuit, *others, r, point)


@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_plain_form_number_for_number(kind: str, people: int) -> None:
    rng = np.random.default_rng([KINDS.index(kind), people])
    for _ in range(4):
        there = world(kind, people, rng)
        circuit, slow, x = there.circuit, plain(there.circuit), there.valid(rng)
        assert len(x) == circuit.length
        for vector in (x, drawn(rng, circuit.length)):  # also of what is not valid
            r, blinds = drawn(rng, circuit.challenges), drawn(rng, circuit.gadget.blinds)
            proof, point = prove(circuit, vector, r, blinds), int(drawn(rng, 1)[0])
            assert proof.tolist() == proofs.prove(slow, vector.tolist(), blinds.tolist(), r.tolist())
            numbers = vector.tolist(), proof.tolist(), [point], r.tolist()
            assert query(circuit, vector, proof, r, point, one=1).tolist() == proofs.query(slow, *numbers, 1)
            assert query(circuit, vector, proof, r, point, one=HALF).tolist() == proofs.query(slow, *numbers, 2)
            told = query(circuit, vector, proof, r, point, one=1)
            assert accepts(circuit, told) == proofs.accepts(slow, told.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_every_valid_vector_is_accepted(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for people in (1, 2, 5):
        there = world(kind, people, rng)
        for sizes in ([0] * people, [CAP] * people, [1] + [0] * (people - 1), *([None] * 20)):
            assert accepts(there.circuit, *asked(there.circuit, there.vector(there.histories(rng, sizes)), rng))


def test_a_device_of_one_person_says_nobody_for_the_others() -> None:
    rng = np.random.default_rng(4)
    there = world("pairs", 3, rng)
    (own,) = there.histories(rng, [3, 0, 0])[:1]
    empty = np.zeros(0, np.int64)
    assert (there.vector([own]) == there.vector([own, empty, empty])).all()
    assert accepts(there.circuit, *asked(there.circuit, there.vector([own]), rng))


def test_proofs_are_as_long_for_nothing_as_for_everything() -> None:
    rng = np.random.default_rng(5)
    for kind in KINDS:
        there = world(kind, 1, rng)
        lengths = {len(there.vector(there.histories(rng, [size]))) for size in (0, 1, CAP)}
        assert lengths == {there.circuit.length}


def test_the_shortest_proof_is_of_the_order_of_a_root() -> None:
    for products in (1, 2, 3, 7, 100, 3428, 100_000, 10**6):
        gadget = ProductGadget.of(products)
        assert gadget.calls * gadget.chunk >= products > (gadget.calls - 1) * gadget.chunk
        assert gadget.calls < gadget.wire_length <= MOST_CALLS + 1
        assert gadget.proof_length <= 4 * np.sqrt(2 * products) + 4
        bound = 2 * (gadget.wire_length - 1) / (MODULUS - 2 * gadget.wire_length) + 3 / MODULUS
        assert bound <= 2.0**-50
    assert ProductGadget.of(3428).proof_length <= 250


def test_a_point_that_would_show_an_input_is_refused() -> None:
    rng = np.random.default_rng(6)
    there = world("counts", 1, rng)
    gadget, x = there.circuit.gadget, there.valid(rng)
    r = drawn(rng, there.circuit.challenges)
    proof = prove(there.circuit, x, r, drawn(rng, gadget.blinds))
    for power in range(2 * gadget.wire_length):
        point = pow(FIELD64.root(2 * gadget.wire_length), power, MODULUS)
        with pytest.raises(FederationError, match="no root of unity"):
            query(there.circuit, x, proof, r, point)


def test_weights_whose_squares_could_reach_the_modulus_are_refused() -> None:
    with pytest.raises(SettingError, match="keep its squares below the field"):
        WeightedCounts(10**5, 1, 1 << 24)


def inputs(
    kind: prio3.Kind, x: Sequence[int], r: Sequence[int], shares: int
) -> tuple[list[int], list[int], int]:
    """What a circuit of the draft gives its products, and what it adds."""
    seen: list[int] = []

    def call(values: Sequence[int]) -> int:
        seen.extend(values)
        return 0

    (linear,) = kind.evaluate(x, r, shares, [call])
    return seen[::2], seen[1::2], linear


def gadget(circuit: Any) -> ProductGadget:
    (one,) = circuit.gadgets
    return ProductGadget(one.arity // 2 * one.calls, one.arity // 2)


def compiled_prove(circuit: Circuit, x: Sequence[int], blinds: Sequence[int], r: Sequence[int]) -> list[int]:
    a, b, _ = inputs(circuit, x, r, 1)  # type: ignore[arg-type]
    return list(gadget(circuit).prove(elements(a), elements(b), elements(list(blinds))).tolist())


def compiled_query(
    circuit: Circuit,
    x: Sequence[int],
    proof: Sequence[int],
    asked: Sequence[int],
    r: Sequence[int],
    shares: int,
) -> list[int]:
    a, b, linear = inputs(circuit, x, r, shares)  # type: ignore[arg-type]
    told = elements([linear])[0]
    found = gadget(circuit).query(elements(a), elements(b), int(told), elements(list(proof)), asked[0])
    return list(found.tolist())


@pytest.mark.skipif(not test_proofs.NAMES, reason="needs the draft's vectors (MURMURA_VECTORS)")
@pytest.mark.parametrize(
    "name", [name for name in test_proofs.NAMES if name.startswith(("Prio3Count", "Prio3SumVecWithMultiproof"))]
)
def test_the_drafts_vectors_of_this_field(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prio3, "prove", compiled_prove)
    monkeypatch.setattr(prio3, "query", compiled_query)
    test_proofs.test_the_drafts_vectors(name)


def test_shares_of_a_check_add_up_to_the_check_of_the_whole() -> None:
    rng = np.random.default_rng(7)
    for kind in KINDS:
        there = world(kind, 2, rng)
        circuit, x = there.circuit, there.valid(rng)
        r = drawn(rng, circuit.challenges)
        proof, point = prove(circuit, x, r, drawn(rng, circuit.gadget.blinds)), int(drawn(rng, 1)[0])
        half, own = drawn(rng, len(x)), drawn(rng, len(proof))
        first = query(circuit, half, own, r, point)
        second = query(circuit, subtracted(x, half), subtracted(proof, own), r, point)
        assert (added(first, second) == query(circuit, x, proof, r, point, one=1)).all()
