"""Stochastic gradient steps of BPR by triples.

Generic in the precision of the tables: float32 to run, float64 to compare with a reference. `fast`, for a
score is a sum over the factors, and the order of that sum carries no meaning.
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

from numpy.typing import NDArray

from murmura.core.arrays import Ints
from murmura.kernels.compiled import compiled

Table = NDArray[Any]  # float32 or float64


class BprRates(NamedTuple):
    """The learning rate and the decays of p_u, q_i and q_j, in the precision of the tables."""

    alpha: Any
    user: Any
    positive: Any
    negative: Any

    @staticmethod
    def of(kind: type, alpha: float, reg: float) -> BprRates:
        """The decay of the other item is a tenth (FPL and MyMediaLite)."""
        return BprRates(kind(alpha), kind(reg), kind(reg), kind(reg / 10))


@compiled(fast=True)
def train_triples(who: Ints, pos: Ints, neg: Ints, P: Table, Q: Table, b: Table, rates: BprRates) -> None:
    """One step per triple: g = 1 / (1 + exp(x_ui - x_uj)), then, all from the values before the step,

    p_u += alpha (g (q_i - q_j) - user p_u),  q_i += alpha (g p_u - positive q_i),  b_i += alpha g,
    q_j += alpha (-g p_u - negative q_j),  b_j -= alpha g.
    """
    one = P.dtype.type(1)
    alpha, user, positive, negative = rates
    factors = P.shape[1]
    for t in range(len(pos)):
        i, j = pos[t], neg[t]
        p, qi, qj = P[who[t]], Q[i], Q[j]
        x = b[i] - b[j]
        for f in range(factors):
            x += p[f] * (qi[f] - qj[f])
        g = one / (one + exp(x))
        for f in range(factors):
            u, v, w = p[f], qi[f], qj[f]
            p[f] = u + alpha * (g * (v - w) - user * u)
            qi[f] = v + alpha * (g * u - positive * v)
            qj[f] = w - alpha * (g * u + negative * w)
        b[i] += alpha * g
        b[j] -= alpha * g


@compiled(fast=True)
def train_user_triples(pos: Ints, neg: Ints, p: Table, Q: Table, b: Table, rates: BprRates) -> None:
    """The same steps for one user's vector, the items held still."""
    one = Q.dtype.type(1)
    for t in range(len(pos)):
        i, j = pos[t], neg[t]
        x = b[i] - b[j]
        for f in range(len(p)):
            x += p[f] * (Q[i, f] - Q[j, f])
        g = one / (one + exp(x))
        for f in range(len(p)):
            p[f] += rates.alpha * (g * (Q[i, f] - Q[j, f]) - rates.user * p[f])
