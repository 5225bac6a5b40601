"""Stochastic gradient steps of logistic factorisation by pairs, and of SVD++ by ratings.

Generic in the precision of the tables: float32 to run, float64 to compare with a reference. `fast`, for a
score is a sum over the factors, and the order of that sum carries no meaning.

SVD++ and biased factorisation: Koren, Factorization meets the neighborhood (KDD 2008), equations 2 and 15. A
user's sum over y_j is made once a visit, and what her ratings tell the y_j is added up and applied after them;
the paper's steps touch all of them at every rating.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints, Longs
from murmura.kernels.compiled import compiled
from murmura.kernels.sparse import Sparse

Table = NDArray[Any]  # float32 or float64


@compiled(fast=True)
def train_pairs(
    who: Ints, pos: Ints, neg: Ints, P: Table, Q: Table, c: Table, b: Table, mu: Table, alpha: Any, reg: Any
) -> None:
    """For each own item a step with label 1, then one with label 0 for each other item: neg is (pairs, m).

    x = mu + c_u + b_i + p_u . q_i and g = label - 1 / (1 + exp(-x)); then, all from the values before the step,
    p_u += alpha (g q_i - reg p_u), and likewise q_i, c_u and b_i; mu += alpha g.
    """
    one = P.dtype.type(1)
    factors = P.shape[1]
    for t in range(len(pos)):
        u = who[t]
        p = P[u]
        for n in range(neg.shape[1] + 1):
            i = pos[t] if n == 0 else neg[t, n - 1]
            q = Q[i]
            x = mu[0] + c[u] + b[i]
            for f in range(factors):
                x += p[f] * q[f]
            g = -one / (one + exp(-x))
            if n == 0:
                g += one
            for f in range(factors):
                v, w = p[f], q[f]
                p[f] = v + alpha * (g * w - reg * v)
                q[f] = w + alpha * (g * v - reg * w)
            c[u] += alpha * (g - reg * c[u])
            b[i] += alpha * (g - reg * b[i])
            mu[0] += alpha * g


@compiled(fast=True)
def train_user_pairs(
    pos: Ints, neg: Ints, p: Table, Q: Table, c: Table, b: Table, mu: Any, alpha: Any, reg: Any
) -> None:
    """The same steps for one user's vector and bias (1,), the items held still."""
    one = Q.dtype.type(1)
    for t in range(len(pos)):
        for n in range(neg.shape[1] + 1):
            i = pos[t] if n == 0 else neg[t, n - 1]
            x = mu + c[0] + b[i]
            for f in range(len(p)):
                x += p[f] * Q[i, f]
            g = -one / (one + exp(-x))
            if n == 0:
                g += one
            for f in range(len(p)):
                p[f] += alpha * (g * Q[i, f] - reg * p[f])
            c[0] += alpha * (g - reg * c[0])


class RatingTables(NamedTuple):
    """r_ui = mu + c_u + b_i + q_i . (p_u + |I_u|^(-1/2) sum of y_j over I_u); without rows Y adds nothing."""

    P: Floats  # (users, factors)
    Q: Floats  # (items, factors)
    c: Floats  # (users,)
    b: Floats  # (items,)
    Y: Floats  # (items, factors), or (0, factors)
    mu: float


class RatingRates(NamedTuple):
    """The size of steps, and how strongly they pull towards 0."""

    user: float
    item: float  # 0: the items stay as they are
    reg: float
    reg_bias: float


@compiled(fast=True)
def visit_users(order: Longs, ratings: Sparse, tables: RatingTables, rates: RatingRates) -> None:
    """For every rating, all from the values before the step, with e = r_ui - its prediction:

    c_u += user (e - reg_bias c_u), b_i += item (e - reg_bias b_i), p_u += user (e q_i - reg p_u),
    q_i += item (e z_u - reg q_i) where z_u = p_u + |I_u|^(-1/2) sum y_j; after a user's n ratings
    y_j += item (|I_u|^(-1/2) sum of e q_i - n reg y_j).
    """
    P, Q, c, b, Y, mu = tables
    factors, implicit = P.shape[1], len(Y) > 0
    z, gradient = np.empty(factors), np.empty(factors)
    for u in order:
        first, last = ratings.start[u], ratings.start[u + 1]
        n = last - first
        if n == 0:
            continue
        norm, p = 1.0 / sqrt(n), P[u]
        for f in range(factors):
            z[f], gradient[f] = p[f], 0.0
        if implicit:
            for row in range(first, last):
                y = Y[ratings.column[row]]
                for f in range(factors):
                    z[f] += norm * y[f]
        for row in range(first, last):
            i = ratings.column[row]
            q = Q[i]
            x = mu + c[u] + b[i]
            for f in range(factors):
                x += z[f] * q[f]
            e = ratings.value[row] - x
            c[u] += rates.user * (e - rates.reg_bias * c[u])
            b[i] += rates.item * (e - rates.reg_bias * b[i])
            for f in range(factors):
                w = q[f]
                q[f] = w + rates.item * (e * z[f] - rates.reg * w)
                gradient[f] += e * w
                step = rates.user * (e * w - rates.reg * p[f])
                p[f] += step
                z[f] += step
        if implicit:
            for row in range(first, last):
                y = Y[ratings.column[row]]
                for f in range(factors):
                    y[f] += rates.item * (norm * gradient[f] - n * rates.reg * y[f])
