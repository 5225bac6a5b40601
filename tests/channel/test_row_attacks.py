"""Rows that break one condition: no proof of them is accepted. Each has a victim without the condition."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest

from murmura.kernels.proofs.circuit import ProvenVector
from murmura.kernels.proofs.declared_rows import DenseRows, KeyRows
from tests.channel.row_worlds import CAP, RowCircuit, circuit, false_rows, leaves_of, rows
from tests.channel.test_proof_attacks import WAYS, Without, honest, passes

CIRCUITS = [
    (kind, same, follows)
    for kind in (DenseRows, KeyRows)
    for same in (False, True)
    for follows in (False, True)
    if kind is KeyRows or not follows
]
TRIES, ALL = 300, 20_000


@pytest.mark.parametrize(("kind", "same", "follows"), CIRCUITS)
def test_true_rows_pass_and_false_ones_only_victims(kind: type[RowCircuit], same: bool, follows: bool) -> None:
    c, rng = circuit(kind, same, follows), np.random.default_rng([same, follows])
    for count in range(CAP + 1):
        own = c.of_rows(*rows(rng, count, same))
        assert passes(c, own, honest, rng)  # type: ignore[arg-type]
        if isinstance(c, KeyRows):
            assert passes(c, leaves_of(own), honest, rng)  # type: ignore[arg-type]
    names = set()
    for lie in false_rows(rng, c):
        assert not any(passes(c, lie.vector, way, rng) for way in WAYS), lie.name  # type: ignore[arg-type]
        victim: ProvenVector = Without(c, lie.dropped)  # type: ignore[assignment, arg-type]
        assert passes(victim, lie.vector, honest, rng), lie.name  # type: ignore[arg-type]
        names.add(lie.name)
    assert len(names) >= 4


def accepted(tries: int) -> list[str]:
    """What passed of so many lies about rows in bins, each of all ways in turn."""
    rng, found, ways = np.random.default_rng(5), [], cycle(WAYS)
    while tries > 0:
        for _, same, follows in CIRCUITS[2:]:
            c = circuit(KeyRows, same, follows)
            for lie in false_rows(rng, c):
                found += [lie.name] if passes(c, lie.vector, next(ways), rng) else []  # type: ignore[arg-type]
                tries -= 1
    return found


def test_nothing_false_is_accepted() -> None:
    assert accepted(TRIES) == []


@pytest.mark.slow
def test_nothing_false_is_accepted_of_many() -> None:
    assert accepted(ALL) == []
