"""The compiled steps of biased factorisation and SVD++ against the equations in plain numpy."""

import numpy as np
import pytest

from murmura.core.arrays import Floats
from murmura.kernels.sparse import Sparse
from murmura.lab.rivals.loops import RatingRates, RatingTables, visit_users
from tests.kernels.test_sparse import matrix, sparse

USERS, ITEMS, FACTORS, PASSES = 9, 13, 5, 6
RATES = RatingRates(0.05, 0.03, 0.02, 0.01)


def tables(implicit: bool) -> RatingTables:
    rng = np.random.default_rng(1)
    shapes = ((USERS, FACTORS), (ITEMS, FACTORS), USERS, ITEMS, (ITEMS if implicit else 0, FACTORS))
    P, Q, c, b, Y = (rng.normal(0, 0.1, shape) for shape in shapes)
    return RatingTables(P, Q, c, b, Y, 2.5)


def ratings() -> Sparse:
    return sparse(matrix(4, USERS, ITEMS))


def plain(order: list[int], own: Sparse, t: RatingTables, rates: RatingRates) -> None:
    """Koren's equations 2 and 15; the y_j hear all ratings of a user at once."""
    for u in order:
        rows = range(own.start[u], own.start[u + 1])
        items, n = own.column[list(rows)], len(rows)
        told = np.zeros(FACTORS)
        added: Floats = t.Y[items].sum(axis=0) / np.sqrt(n) if n and len(t.Y) else np.zeros(FACTORS)
        for row in rows:
            i = own.column[row]
            z, q, p = t.P[u] + added, t.Q[i].copy(), t.P[u].copy()
            e = own.value[row] - (t.mu + t.c[u] + t.b[i] + z @ q)
            t.c[u] += rates.user * (e - rates.reg_bias * t.c[u])
            t.b[i] += rates.item * (e - rates.reg_bias * t.b[i])
            t.P[u] += rates.user * (e * q - rates.reg * p)
            t.Q[i] += rates.item * (e * z - rates.reg * q)
            told += e * q
        if len(t.Y) and n:
            t.Y[items] += rates.item * (told / np.sqrt(n) - n * rates.reg * t.Y[items])


@pytest.mark.parametrize("implicit", [False, True])
def test_steps_equal_the_plain_twin(implicit: bool) -> None:
    ours, theirs, own = tables(implicit), tables(implicit), ratings()
    for number in range(PASSES):
        order = np.random.default_rng(number).permutation(USERS)
        visit_users(order, own, ours, RATES)
        plain(order.tolist(), own, theirs, RATES)
    # each step re-orders one sum of FACTORS terms of values below 8
    near = PASSES * len(own.value) * FACTORS * 8 * 2.0**-53
    for mine, twin in zip(ours[:-1], theirs[:-1]):
        np.testing.assert_allclose(mine, twin, rtol=0, atol=near)


def test_items_stay_where_they_are_told_to() -> None:
    ours = tables(True)
    before = [array.copy() for array in ours[:-1]]
    visit_users(np.arange(USERS), ratings(), ours, RATES._replace(item=0.0))
    for array, was, moved in zip(ours[:-1], before, (True, False, True, False, False)):
        assert np.array_equal(array, was) == (not moved)
