"""Many clients of FCF at once: which rows they share, and the sum of what they send.

The plain twin is `algorithms.fcf`; a sum over clients is taken in the order of the clients, in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Bytes, Floats, Longs
from murmura.core.rng import Purpose, Words
from murmura.kernels.compiled import compiled
from murmura.kernels.random.draws import coin_at
from murmura.kernels.sparse import Sparse

COINS, CONSENT = np.uint64(Purpose.COINS), np.uint64(Purpose.CONSENT)


class Weights(NamedTuple):
    """What a shared row of value r adds to the sum: ((base + slope r) (1 - x) + rest x) p, with x = p . q.

    `rest` takes back what a row adds that is not an own one, where those are added for all items at once.
    """

    base: float
    slope: float
    rest: float


@compiled
def draw_consent(
    start: Longs, consent: Floats, secrets: Words, round_: int, purpose: np.uint64, send: Bytes
) -> None:
    """Flip the coin of every row of every client."""
    for client in range(len(start) - 1):
        for row in range(start[client], start[client + 1]):
            send[row] = coin_at(secrets[client], np.uint64(round_), purpose, row - start[client], consent[row])


@compiled(fast=True)
def add_shared(rows: Sparse, send: Bytes, P: Floats, Q: Floats, weights: Weights, total: Floats) -> None:
    """Add what the shared rows of all clients send to the rows of their items."""
    factors = P.shape[1]
    for client in range(len(P)):
        p = P[client]
        for row in range(rows.start[client], rows.start[client + 1]):
            if send[row]:
                q, sums = Q[rows.column[row]], total[rows.column[row]]
                x = 0.0
                for f in range(factors):
                    x += p[f] * q[f]
                pull = (weights.base + weights.slope * rows.value[row]) * (1.0 - x) + weights.rest * x
                for f in range(factors):
                    sums[f] += pull * p[f]
