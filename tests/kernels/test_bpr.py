"""The compiled steps against the equations in plain numpy, on the same triples in float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.kernels.factorisation.sgd import BprRates, train_triples, train_user_triples

Table = NDArray[Any]
USERS, ITEMS, FACTORS, TRIPLES = 8, 12, 20, 3000


def tables(kind: str) -> tuple[Table, Table, Table]:
    rng = np.random.default_rng(1)
    P, Q, b = (rng.normal(0, 0.1, shape) for shape in ((USERS, FACTORS), (ITEMS, FACTORS), ITEMS))
    return P.astype(kind), Q.astype(kind), b.astype(kind)


def triples() -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    rng = np.random.default_rng(2)
    who, pos = rng.integers(0, USERS, TRIPLES), rng.integers(0, ITEMS // 2, TRIPLES)
    neg = rng.integers(ITEMS // 2, ITEMS, TRIPLES)
    return who.astype(np.int32), pos.astype(np.int32), neg.astype(np.int32)


def plain(P: Table, Q: Table, b: Table, alpha: float, reg: float) -> None:
    """Algorithm 1 of the paper with the derivatives of section 4.3.1."""
    for u, i, j in zip(*triples()):
        p, qi, qj = P[u].copy(), Q[i].copy(), Q[j].copy()
        g = 1 / (1 + np.exp(b[i] + p @ qi - b[j] - p @ qj))
        P[u] += alpha * (g * (qi - qj) - reg * p)
        Q[i] += alpha * (g * p - reg * qi)
        Q[j] += alpha * (-g * p - reg / 10 * qj)
        b[i] += alpha * g
        b[j] -= alpha * g


def test_steps_equal_the_plain_twin_in_double_precision() -> None:
    ours, theirs = tables("f8"), tables("f8")
    train_triples(*triples(), *ours, BprRates.of(np.float64, 0.05, 0.01))
    plain(*theirs, alpha=0.05, reg=0.01)
    # a step re-orders one sum of FACTORS terms: FACTORS rounding errors of values below 4, TRIPLES times
    near = TRIPLES * FACTORS * 4 * 2.0**-53
    for mine, twin in zip(ours, theirs):
        np.testing.assert_allclose(mine, twin, rtol=0, atol=near)


def test_single_precision_stays_near_double_precision() -> None:
    single, double = tables("f4"), tables("f8")
    train_triples(*triples(), *single, BprRates.of(np.float32, 0.05, 0.01))
    train_triples(*triples(), *double, BprRates.of(np.float64, 0.05, 0.01))
    for mine, twin in zip(single, double):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, twin, rtol=0, atol=TRIPLES * FACTORS * 4 * 2.0**-24)


def test_one_user_moves_as_in_training_but_the_items_stay() -> None:
    P, Q, b = tables("f8")
    _, pos, neg = triples()
    p, before = P[0].copy(), Q.copy()
    train_user_triples(pos, neg, p, Q, b, BprRates.of(np.float64, 0.05, 0.01))
    twin = P[0].copy()
    for i, j in zip(pos, neg):
        g = 1 / (1 + np.exp(b[i] - b[j] + twin @ (Q[i] - Q[j])))
        twin += 0.05 * (g * (Q[i] - Q[j]) - 0.01 * twin)
    np.testing.assert_allclose(p, twin, rtol=0, atol=TRIPLES * FACTORS * 4 * 2.0**-53)
    assert np.array_equal(Q, before)


def test_the_loss_falls() -> None:
    P, Q, b = tables("f4")
    who, pos, neg = triples()

    def loss() -> float:
        x = b[pos] - b[neg] + (P[who] * (Q[pos] - Q[neg])).sum(axis=1)
        return float(np.log1p(np.exp(-x)).mean())

    before = loss()
    train_triples(who, pos, neg, P, Q, b, BprRates.of(np.float32, 0.05, 0.0025))
    assert loss() < 0.5 * before
