"""Many clients of FCF at once: which rows they share, and the sum of what they send, through a channel or not.

The reference implementation is `algorithms.fcf`; a sum over clients is taken in the order of the clients, in
float64. Through a channel every client's rows are sent on their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Bytes, Floats, Ints, Longs
from murmura.core.kernel import VectorSlice
from murmura.core.rng import Purpose, Words
from murmura.kernels.compiled import compiled
from murmura.kernels.fixed_point import add_fixed_point_rows
from murmura.kernels.philox import Word, coin_at
from murmura.kernels.sparse import Sparse

COINS, CONSENT = np.uint64(Purpose.COINS), np.uint64(Purpose.CONSENT)


class Weights(NamedTuple):
    """What a shared row of value r adds to the sum: ((base + slope r) (1 - x) + rest x) p, with x = p . q.

    `rest` takes back what a row adds that is not an own one, where those are added for all items at once.
    """

    base: float
    slope: float
    rest: float


class ChannelUploads(NamedTuple):
    """What the clients of a round send through a channel is made of."""

    rows: Sparse
    send: Bytes
    P: Floats
    Q: Floats
    scale: Floats  # (clients,) what the update of each is multiplied by
    secrets: Words
    round: int
    vector_slice: VectorSlice


def draw_consent(start: Longs, consent: Floats, secrets: Words, round_: int, per_round: bool) -> Bytes:
    """(rows,) the coin of every row of every client, which says whether it is shared in a round."""
    send = np.empty(len(consent), np.uint8)
    purpose = CONSENT if per_round else COINS
    _flip_coins(start, np.ascontiguousarray(consent), secrets, np.uint64(round_), purpose, send)
    return send


@compiled
def _flip_coins(
    start: Longs, consent: Floats, secrets: Words, round_: Word, purpose: Word, send: Bytes
) -> None:
    for client in range(len(start) - 1):
        for row in range(start[client], start[client + 1]):
            send[row] = coin_at(secrets[client], round_, purpose, row - start[client], consent[row])


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
def upload_own_rows(first: int, last: int, uploads: ChannelUploads, total: Longs) -> None:
    """2 (1 - p . q_i) p of the items clients first to last share."""
    rows, send, P, Q, scale, secrets, round_, vector_slice = uploads
    factors = P.shape[1]
    for client in range(first, last):
        total[0] += 1
        size = rows.start[client + 1] - rows.start[client]
        items, values, n = np.empty(size, np.int32), np.empty((size, factors)), 0
        for row in range(rows.start[client], rows.start[client + 1]):
            if send[row]:
                item = rows.column[row]
                error = 1.0 - inner(P[client], Q[item])
                for f in range(factors):
                    values[n, f] = 2.0 * error * P[client, f] * scale[client]
                items[n] = item
                n += 1
        add_fixed_point_rows(
            np.arange(n), items, values, vector_slice, secrets[client], np.uint64(round_), total
        )


@compiled
def upload_all_rows(
    first: int, last: int, uploads: ChannelUploads, listed: Ints, alpha: float, total: Longs
) -> None:
    """c (x - p . q_i) p of every item on offer, from clients first to last; rows are places in `listed`."""
    rows, send, P, Q, scale, secrets, round_, vector_slice = uploads
    factors = P.shape[1]
    place = np.full(len(Q), -1, np.int32)
    for k in range(len(listed)):
        place[listed[k]] = k
    order, errors = np.arange(len(listed)), np.empty(len(listed))
    places = order.astype(np.int32)
    values = np.empty((len(listed), factors))
    for client in range(first, last):
        total[0] += 1
        for k in range(len(listed)):
            errors[k] = -inner(P[client], Q[listed[k]])
        for row in range(rows.start[client], rows.start[client + 1]):
            if send[row]:
                k = place[rows.column[row]]
                errors[k] = (1.0 + alpha * rows.value[row]) * (1.0 + errors[k])
        for k in range(len(listed)):
            for f in range(factors):
                values[k, f] = errors[k] * P[client, f] * scale[client]
        add_fixed_point_rows(order, places, values, vector_slice, secrets[client], np.uint64(round_), total)


@compiled
def inner(p: Floats, q: Floats) -> float:
    """The product p . q of one client and one item."""
    x = 0.0
    for f in range(len(p)):
        x += p[f] * q[f]
    return x
