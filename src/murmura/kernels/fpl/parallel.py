"""pFPL compiled: a round with many clients and one triple each, in blocks as in `kernels.fpl.cohorts`.

With one triple there is nothing to reuse within a visit, so the draws of some hundred clients are made first,
as in `kernels.fpl.stochastic`.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from murmura.core.arrays import Bytes, Ints, Longs
from murmura.kernels.compiled import compiled
from murmura.kernels.fpl.arithmetic import FplRates, Values, open_row
from murmura.kernels.fpl.cohorts import Sums
from murmura.kernels.fpl.stochastic import AHEAD, draw_ahead, flip_ahead, words_ahead
from murmura.kernels.fpl.triples import Draws, FlatPopulation, Index


@compiled
def run_single_triples(
    first: int,
    last: int,
    bounds: Longs,
    cohort: Ints,
    round_: int,
    P: Values,
    Q: Values,
    b: Values,
    people: FlatPopulation,
    rates: FplRates,
    draws: Draws,
    out: Sums,
    sent: Bytes,
    disclosed: Longs,
) -> int:
    """The clients of blocks first to last: their rows of P, of `out` and of the tally; the rows they send."""
    start, item, consent, per_round, everything, _, secrets, listed, own = people
    who, row, negative = np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int32)
    positive, send = np.empty(AHEAD, np.int32), np.ones(AHEAD, P.dtype)
    words, rows = np.empty((2, AHEAD), np.uint32), 0
    for block in range(first, last):
        slot, touched, values, senders = (
            out.slot[block],
            out.touched[block],
            out.values[block],
            out.senders[block],
        )
        used = 0
        for begin in range(bounds[block], bounds[block + 1], AHEAD):
            n = min(AHEAD, bounds[block + 1] - begin)
            for k in range(n):
                who[k] = cohort[begin + k]
            words_ahead(secrets, round_, 0, n, who, words)
            draw_ahead(
                start, item, listed, own, secrets, round_, 0, n, who, words, row, positive, negative, draws
            )
            if not everything:
                flip_ahead(start, consent, secrets, per_round, round_, 0, n, who, row, negative, send)
            for k in range(n):
                i, j = positive[k], negative[k]
                if j < 0:
                    continue
                used = send_row(j, used, slot, touched, values, senders)
                rows += 1
                if send[k] > 0:
                    used = send_row(i, used, slot, touched, values, senders)
                    rows += 1
                    disclosed[who[k]] += 1 - sent[row[k]]
                    sent[row[k]] = 1
                user_ascent_step(P, who[k], Q, b, i, j, send[k], values, slot[i], slot[j], rates)
        out.used[block] = used
    return rows


@compiled(inline=True)
def send_row(item: Index, used: int, slot: Ints, touched: Ints, values: Values, senders: Ints) -> int:
    """Count one client more that sends a row of this item; the rows in use afterwards."""
    after = open_row(item, used, slot, touched, values)
    if after > used:
        senders[used] = 0
    senders[slot[item]] += 1
    return after


@compiled(fast=True, inline=True)
def user_ascent_step(
    P: Values,
    u: Index,
    Q: Values,
    b: Values,
    i: Index,
    j: Index,
    send: Any,
    sums: Values,
    place_i: Index,
    place_j: Index,
    rates: FplRates,
) -> None:
    """One triple of client u: the gradients of its items to their rows, and p_u. A loop each runs in lanes."""
    margin, n = b[i] - b[j], P.shape[1]
    for f in range(n):
        margin += P[u, f] * (Q[i, f] - Q[j, f])
    g = rates.one / (rates.one + exp(margin))
    if send > 0:
        for f in range(n):
            sums[place_i, f] += g * P[u, f] - rates.positive * Q[i, f]
        sums[place_i, n] += g
    for f in range(n):
        sums[place_j, f] -= g * P[u, f] + rates.negative * Q[j, f]
    sums[place_j, n] -= g
    for f in range(n):
        P[u, f] += rates.alpha * (g * (Q[i, f] - Q[j, f]) - rates.user * P[u, f])
