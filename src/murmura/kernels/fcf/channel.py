"""A round of FCF whose updates go through a channel, compiled: every client's rows are sent on their own."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bytes, Floats, Ints, Longs
from murmura.core.kernel import VectorSlice
from murmura.core.rng import Words
from murmura.kernels.channel import add_fixed_point_rows
from murmura.kernels.compiled import compiled
from murmura.kernels.sparse import Sparse


@compiled
def upload_own_rows(
    first: int,
    last: int,
    rows: Sparse,
    send: Bytes,
    P: Floats,
    Q: Floats,
    secrets: Words,
    round_: int,
    vector_slice: VectorSlice,
    total: Longs,
) -> None:
    """2 (1 - p . q_i) p of the items clients first to last share."""
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
                    values[n, f] = 2.0 * error * P[client, f]
                items[n] = item
                n += 1
        add_fixed_point_rows(
            np.arange(n), items, values, False, vector_slice, secrets[client], np.uint64(round_), total
        )


@compiled
def upload_all_rows(
    first: int,
    last: int,
    rows: Sparse,
    send: Bytes,
    P: Floats,
    Q: Floats,
    secrets: Words,
    round_: int,
    vector_slice: VectorSlice,
    listed: Ints,
    alpha: float,
    total: Longs,
) -> None:
    """c (x - p . q_i) p of every item on offer, from clients first to last; rows are places in `listed`."""
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
                values[k, f] = errors[k] * P[client, f]
        add_fixed_point_rows(
            order, places, values, False, vector_slice, secrets[client], np.uint64(round_), total
        )


@compiled
def inner(p: Floats, q: Floats) -> float:
    """The product p . q of one client and one item."""
    x = 0.0
    for f in range(len(p)):
        x += p[f] * q[f]
    return x
