"""Numbers modulo 2⁶⁴ − 2³² + 1: what Python's whole numbers give."""

from __future__ import annotations

import numpy as np
import pytest

from murmura.kernels.proofs import field
from murmura.kernels.proofs.field import MODULUS, Elements
from murmura.kernels.proofs.products import transform
from tests.channel.plain_proofs import FIELD64, values_of

EDGES = [0, 1, 2, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, 2**63, MODULUS - 2**32, MODULUS - 2, MODULUS - 1]


def numbers(count: int, seed: int) -> Elements:
    rng = np.random.default_rng(seed)
    return np.concatenate([np.array(EDGES, np.uint64), rng.integers(0, MODULUS, count, dtype=np.uint64)])


def test_the_modulus_is_that_of_the_reference() -> None:
    assert FIELD64.modulus == MODULUS
    assert FIELD64.generator == field.GENERATOR
    assert 2 * field.HALF % MODULUS == 1


def test_arithmetic_of_one_number() -> None:
    known = numbers(60, 1)
    for a in known:
        for b in known:
            assert field.add(a, b) == (int(a) + int(b)) % MODULUS
            assert field.subtract(a, b) == (int(a) - int(b)) % MODULUS
            assert field.multiply(a, b) == int(a) * int(b) % MODULUS
        if a:
            assert field.inverse(a) == pow(int(a), -1, MODULUS)
        assert field.power(a, 77) == pow(int(a), 77, MODULUS)


def test_arithmetic_of_many() -> None:
    a, b = numbers(3000, 2), numbers(3000, 3)[::-1].copy()
    whole = [(int(x), int(y)) for x, y in zip(a, b)]
    assert field.added(a, b).tolist() == [(x + y) % MODULUS for x, y in whole]
    assert field.subtracted(a, b).tolist() == [(x - y) % MODULUS for x, y in whole]
    assert field.multiplied(a, b).tolist() == [x * y % MODULUS for x, y in whole]
    assert field.scaled(a, b[0]).tolist() == [x * int(b[0]) % MODULUS for x, _ in whole]
    assert field.inner(a, b) == sum(x * y for x, y in whole) % MODULUS
    assert field.total(a) == sum(x for x, _ in whole) % MODULUS
    grown = a.copy()
    field.add_into(grown, b)
    assert (grown == field.added(a, b)).all()


@pytest.mark.parametrize("count", [0, 1, 2, 70_001])
def test_a_sum_of_the_largest_products_is_reduced_once(count: int) -> None:
    largest = np.full(count, MODULUS - 1, np.uint64)
    assert field.inner(largest, largest) == count % MODULUS


@pytest.mark.parametrize("order", [1, 2, 4, 64, 1024])
def test_roots_of_unity_and_the_transform(order: int) -> None:
    assert field.root_of_unity(order) == FIELD64.root(order)
    values = numbers(order, 4)[-order:].copy()
    expected = values_of(FIELD64, values.tolist(), FIELD64.root(order))
    transform(values, np.uint64(FIELD64.root(order)))
    assert values.tolist() == expected
