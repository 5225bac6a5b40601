"""Proofs: the draft's vectors, bad ones included, and soundness over a small field at the promised rate."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.channel.plain_proofs import FIELD64, PrimeField, accepts, product_sum, prove, query, query_length
from tests.channel.prio3 import (
    Count,
    HigherDegree,
    Histogram,
    Kind,
    MultihotCountVec,
    Prio3,
    Sum,
    SumVec,
    decoded,
    encoded,
)

VECTORS = Path(os.environ.get("MURMURA_VECTORS", Path(__file__).parents[3] / "shared" / "vectors")) / "vdaf"
KINDS: dict[str, type[Kind]] = {
    "Count": Count,
    "Sum": Sum,
    "SumVec": SumVec,
    "SumVecWithMultiproof": SumVec,
    "Histogram": Histogram,
    "MultihotCountVec": MultihotCountVec,
    "HigherDegree": HigherDegree,
}
NAMES = sorted(path.stem for path in VECTORS.glob("Prio3*.json"))


def read(name: str) -> tuple[Prio3, dict[str, Any]]:
    told = json.loads((VECTORS / f"{name}.json").read_text())
    kind = name.removeprefix("Prio3").split("_")[0]
    several: dict[str, Any] = (
        {"field": FIELD64, "algorithm": 0xFFFFFFFF} if kind == "SumVecWithMultiproof" else {}
    )
    made = KINDS[kind](**{key: told[key] for key in told if key not in several}, **several)
    return Prio3(made, told["shares"], bytes.fromhex(told["ctx"]), 3 if several else 1), told


@pytest.mark.skipif(not NAMES, reason="needs the draft's vectors (MURMURA_VECTORS)")
@pytest.mark.parametrize("name", NAMES)
def test_the_drafts_vectors(name: str) -> None:
    prio3, told = read(name)
    field, key = prio3.kind.field, bytes.fromhex(told["verify_key"])
    sums = [[0] * len(decoded(field, bytes.fromhex(one))) for one in told["agg_shares"]]
    steps = [(one["operation"], one.get("aggregator_id"), one["success"]) for one in told["operations"]]
    sound = "_bad_" not in name
    assert sound == all(success for *_, success in steps)
    for report in told["reports"]:
        nonce, public = bytes.fromhex(report["nonce"]), bytes.fromhex(report["public_share"])
        shares = [bytes.fromhex(one) for one in report["input_shares"]]
        if sound:
            assert prio3.shard(report["measurement"], nonce, bytes.fromhex(report["rand"])) == (public, shares)
        told_shares = [prio3.query(key, i, nonce, public, one) for i, one in enumerate(shares)]
        spelt = [encoded(field, verifier) + part for _, verifier, part, _ in told_shares]
        known = [
            bytes.fromhex(one) for one in report["verifier_shares"][0]
        ]  # of the first ones, where it is bad
        assert spelt[: len(known)] == known
        message = prio3.message([one[1] for one in told_shares], [one[2] for one in told_shares])
        if report["verifier_messages"]:
            message = bytes.fromhex(report["verifier_messages"][0])
        accepted = message is not None and all(message == one[3] for one in told_shares)
        assert accepted == sound
        if sound:
            for total, (x, *_) in zip(sums, told_shares, strict=True):
                total[:] = [(a + b) % field.modulus for a, b in zip(total, prio3.kind.summed(x), strict=True)]
    if sound:
        assert [encoded(field, one) for one in sums] == [bytes.fromhex(one) for one in told["agg_shares"]]
        found = [sum(each) % field.modulus for each in zip(*sums)]
        expected = told["agg_result"]
        assert found == (expected if isinstance(expected, list) else [expected])


TOY = PrimeField(257, 3, 256)  # 3 generates the whole group


class Bits(Kind):
    """All are bits; with `checked` smaller, the last ones are not looked at: a victim."""

    def __init__(self, field: PrimeField, length: int, chunk: int, checked: int | None = None) -> None:
        self.checked = length if checked is None else checked
        calls = -(-self.checked // chunk)
        super().__init__(field, length, calls, 1, (product_sum(chunk, calls),), 0)

    def evaluate(self, x: Any, r: Any, shares: int, calls: Any) -> list[int]:
        return [self.bits_checked(x[: self.checked], r, shares, calls[0])]


def outcome(kind: Kind, x: list[int], rng: np.random.Generator) -> bool:
    """Whether two verifiers accept x, with an honestly made proof."""
    p = kind.field.modulus

    def drawn(count: int) -> list[int]:
        return [int(value) for value in rng.integers(0, p, count, dtype=np.uint64)]

    r = drawn(kind.challenges)
    proof = prove(kind, x, drawn(sum(gadget.arity for gadget in kind.gadgets)), r)
    points = drawn(query_length(kind))
    while any(pow(points[-1], 2 * gadget.wire_length, p) == 1 for gadget in kind.gadgets):
        points = drawn(query_length(kind))
    halves = [(a, [(v - h) % p for v, h in zip(w, a)]) for w in (x, proof) for a in [drawn(len(w))]]
    shares = [query(kind, halves[0][i], halves[1][i], points, r, 2) for i in range(2)]
    return accepts(kind, [sum(each) % p for each in zip(*shares, strict=True)])


def test_bits_are_accepted_and_anything_else_is_not() -> None:
    rng, kind = np.random.default_rng(1), Bits(FIELD64, 11, 3)
    x = [1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1]
    assert all(outcome(kind, x, rng) for _ in range(20))
    for place in range(11):
        for lie in (2, FIELD64.modulus - 1, 5):
            assert not outcome(kind, [*x[:place], lie, *x[place + 1 :]], rng)


def test_a_constraint_that_is_not_checked_lets_the_lie_in() -> None:
    rng = np.random.default_rng(2)
    assert outcome(Bits(FIELD64, 11, 3, checked=10), [0] * 10 + [7], rng)


def test_over_a_small_field_a_lie_passes_as_often_as_promised() -> None:
    """One wrong number: what is checked is zero for one of 257 challenges."""
    rng, tries = np.random.default_rng(3), 3000
    kind = Bits(TOY, 3, 3)
    passed = sum(outcome(kind, [1, 5, 0], rng) for _ in range(tries))
    expected = tries / TOY.modulus  # r² · 5 · 4 is 0 for r = 0 alone
    assert abs(passed - expected) <= 4 * np.sqrt(expected) + 1
    assert sum(outcome(kind, [1, 1, 0], rng) for _ in range(200)) == 200
