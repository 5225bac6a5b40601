"""The compiled logistic steps against the equations in plain numpy, on the same pairs in float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.lab.rivals.loops import train_pairs, train_user_pairs

Table = NDArray[Any]
USERS, ITEMS, FACTORS, PAIRS, NEGATIVES = 8, 12, 20, 600, 4
ALPHA, REG = 0.05, 0.01


def tables() -> tuple[Table, ...]:
    rng = np.random.default_rng(1)
    shapes = ((USERS, FACTORS), (ITEMS, FACTORS), (USERS,), (ITEMS,), (1,))
    return tuple(rng.normal(0, 0.1, shape) for shape in shapes)


def pairs() -> tuple[Table, ...]:
    rng = np.random.default_rng(2)
    shapes: list[Any] = [PAIRS, PAIRS, (PAIRS, NEGATIVES)]
    return tuple(rng.integers(0, n, s).astype(np.int32) for n, s in zip((USERS, ITEMS, ITEMS), shapes))


def plain(P: Table, Q: Table, c: Table, b: Table, mu: Table) -> None:
    """The gradient of the logistic loss, label 1 for the own item and 0 for the sampled ones."""
    who, pos, neg = pairs()
    for u, i, others in zip(who, pos, neg):
        for item, label in ((i, 1), *((j, 0) for j in others)):
            p, q = P[u].copy(), Q[item].copy()
            g = label - 1 / (1 + np.exp(-(mu[0] + c[u] + b[item] + p @ q)))
            P[u] += ALPHA * (g * q - REG * p)
            Q[item] += ALPHA * (g * p - REG * q)
            c[u] += ALPHA * (g - REG * c[u])
            b[item] += ALPHA * (g - REG * b[item])
            mu[0] += ALPHA * g


# a step re-orders one sum of FACTORS terms: FACTORS rounding errors of values below 4, once per step
NEAR = PAIRS * (NEGATIVES + 1) * FACTORS * 4 * 2.0**-53


def test_steps_equal_the_plain_twin_in_double_precision() -> None:
    ours, theirs = tables(), tables()
    train_pairs(*pairs(), *ours, ALPHA, REG)  # type: ignore[call-arg]
    plain(*theirs)
    for mine, twin in zip(ours, theirs):
        np.testing.assert_allclose(mine, twin, rtol=0, atol=NEAR)


def test_one_user_moves_as_in_training_but_the_items_stay() -> None:
    P, Q, c, b, mu = tables()
    _, pos, neg = pairs()
    p, bias, before = P[0].copy(), c[:1].copy(), Q.copy()
    train_user_pairs(pos, neg, p, Q, bias, b, mu[0], ALPHA, REG)
    twin, twin_bias = P[0].copy(), c[0]
    for i, others in zip(pos, neg):
        for item, label in ((i, 1), *((j, 0) for j in others)):
            g = label - 1 / (1 + np.exp(-(mu[0] + twin_bias + b[item] + twin @ Q[item])))
            twin += ALPHA * (g * Q[item] - REG * twin)
            twin_bias += ALPHA * (g - REG * twin_bias)
    np.testing.assert_allclose(p, twin, rtol=0, atol=NEAR)
    np.testing.assert_allclose(bias[0], twin_bias, rtol=0, atol=NEAR)
    assert np.array_equal(Q, before)
