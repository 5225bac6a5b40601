"""Many clients of FCF at once: the sum of what they send, through a channel or not.

The reference implementation is `algorithms.fcf`; a sum over clients is taken in the order of the clients, in
float64. Through a channel every client's rows are sent on their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Bytes, Floats, Ints
from murmura.kernels.client_blocks import ClientBlock, Values, disclose, send_rows, shared_items, shares_row
from murmura.kernels.compiled import compiled
from murmura.kernels.sparse import Sparse


class Weights(NamedTuple):
    """What a shared row of value r adds to the sum: ((base + slope r) (1 - x) + rest x) p, with x = p . q.

    `rest` takes back what a row adds that is not an own one, where those are added for all items at once.
    """

    base: float
    slope: float
    rest: float


@compiled(fast=True)
def add_shared(
    rows: Sparse, send: Bytes, P: Floats, Q: Floats, weights: Weights, scale: Floats, total: Floats
) -> None:
    """Add what the shared rows of all clients send, times the scale of each, to the rows of their items."""
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
                pull *= scale[client]
                for f in range(factors):
                    sums[f] += pull * p[f]


@compiled
def send_own_rows(P: Values, Q: Floats, block: ClientBlock) -> None:
    """2 (1 - p . q_i) p of the items that some clients share."""
    for place in range(len(block.clients)):
        p, items = P[block.clients[place]].astype(np.float64), shared_items(place, block)
        values = np.empty((len(items), len(p)))
        for n in range(len(items)):
            error = 1.0 - inner(p, Q[items[n]])
            for f in range(len(p)):
                values[n, f] = 2.0 * error * p[f]
        send_rows(place, items, values, block)


@compiled
def send_all_rows(P: Values, Q: Floats, r: Floats, listed: Ints, alpha: float, block: ClientBlock) -> None:
    """c (x - p . q_i) p of every item on offer, from some clients; rows are places in `listed`.

    `r` has the value of every row of everyone's history.
    """
    people, place_of = block.people, np.full(len(Q), -1, np.int32)
    for k in range(len(listed)):
        place_of[listed[k]] = k
    rows, errors = np.arange(len(listed)).astype(np.int32), np.empty(len(listed))
    values = np.empty((len(listed), P.shape[1]))
    for place in range(len(block.clients)):
        u = block.clients[place]
        p = P[u].astype(np.float64)
        for k in range(len(listed)):
            errors[k] = -inner(p, Q[listed[k]])
        for row in range(people.start[u], people.start[u + 1]):
            if shares_row(people, u, row, block.round):
                disclose(u, row, block.tally.sent, block.tally.disclosed)
                k = place_of[people.item[row]]
                errors[k] = (1.0 + alpha * r[row]) * (1.0 + errors[k])
        for k in range(len(listed)):
            for f in range(len(p)):
                values[k, f] = errors[k] * p[f]
        send_rows(place, rows, values, block)


@compiled
def inner(p: Floats, q: Floats) -> float:
    """The product p . q of one client and one item."""
    x = 0.0
    for f in range(len(p)):
        x += p[f] * q[f]
    return x
