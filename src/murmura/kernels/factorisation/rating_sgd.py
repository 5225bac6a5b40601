"""Stochastic gradient steps of biased matrix factorisation and of SVD++, one user after the other.

Koren: Factorization meets the neighborhood (KDD 2008), equations 2 and 15. A user's sum over y_j is made once
a visit, and what her ratings tell the y_j is added up and applied after them; the paper's steps touch all of
them at every rating. `fast`, for the reasons given in `kernels.factorisation.bpr`.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Floats, Longs
from murmura.kernels.compiled import compiled
from murmura.kernels.sparse import Sparse


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
    z, told = np.empty(factors), np.empty(factors)
    for u in order:
        first, last = ratings.start[u], ratings.start[u + 1]
        n = last - first
        if n == 0:
            continue
        norm, p = 1.0 / sqrt(n), P[u]
        for f in range(factors):
            z[f], told[f] = p[f], 0.0
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
                told[f] += e * w
                step = rates.user * (e * w - rates.reg * p[f])
                p[f] += step
                z[f] += step
        if implicit:
            for row in range(first, last):
                y = Y[ratings.column[row]]
                for f in range(factors):
                    y[f] += rates.item * (norm * told[f] - n * rates.reg * y[f])
