"""Stochastic gradient steps of logistic matrix factorisation, one labelled pair after the other.

Generic in the precision of the tables, and `fast`, for the reasons given in `kernels.factorisation.bpr`.
"""

from __future__ import annotations

from math import exp
from typing import Any

from numpy.typing import NDArray

from murmura.core.arrays import Ints
from murmura.kernels.compiled import compiled

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
def train_one_user(
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
