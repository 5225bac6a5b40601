"""One triple a visit, compiled: sFPL, a million rounds of one client in one call, and pFPL, rounds of many.

With one triple there is nothing to reuse within a visit. Draws do not depend on the model, so those of some
hundred visits are made first, in passes that each wait for memory once: the processor fetches the rows of the
next visits while it works on this one. With one client a round the sum of a visit is its one gradient, so the
model moves in place: stochastic gradient ascent. Many clients are added up in blocks, as in `cohorts`.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from murmura.core.arrays import Bytes, Floats, Ints, Longs
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.fpl.arithmetic import FplRates, Values, open_row
from murmura.kernels.fpl.cohorts import Sums
from murmura.kernels.fpl.triples import Bits, Draws, FlatPopulation, Index, can_compare, draw_triples, holds
from murmura.kernels.random.draws import coin_at, one_of
from murmura.kernels.random.philox import Words, block, bounded

_TRIPLES, _COINS = np.uint64(Purpose.TRIPLES), np.uint64(Purpose.COINS)
_SELECT, _CONSENT, _ZERO = np.uint64(Purpose.SELECT), np.uint64(Purpose.CONSENT), np.uint64(0)
AHEAD = 256  # rounds drawn at once


@compiled
def stochastic_rounds(
    first: int,
    rounds: int,
    server: Words,
    step: Any,
    P: Values,
    Q: Values,
    b: Values,
    people: FlatPopulation,
    rates: FplRates,
    draws: Draws,
    sent: Bytes,
    disclosed: Longs,
    item_rows: Longs,
) -> int:
    """Rounds first, first + 1, ...; changes P, Q, b and the tally, returns the rows sent."""
    start, item, consent, per_round, everything, _, secrets, listed, own = people
    rows = 0
    who, row, negative = np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int32)
    positive, send = np.empty(AHEAD, np.int32), np.ones(AHEAD, P.dtype)
    words = np.empty((2, AHEAD), np.uint32)
    for begin in range(first, first + rounds, AHEAD):
        n = min(AHEAD, first + rounds - begin)
        choose_ahead(server, begin, n, len(start) - 1, who)
        words_ahead(secrets, begin, 1, n, who, words)
        draw_ahead(start, item, listed, own, secrets, begin, 1, n, who, words, row, positive, negative, draws)
        if not everything:
            flip_ahead(start, consent, secrets, per_round, begin, 1, n, who, row, negative, send)
        for k in range(n):
            if negative[k] >= 0:
                ascend(P, Q, b, who[k], positive[k], negative[k], send[k], step, rates)
        rows += tally_ahead(n, who, row, positive, negative, send, sent, disclosed, item_rows)
    return rows


@compiled
def choose_ahead(server: Words, first: int, n: int, clients: int, who: Longs) -> None:
    """The one client of each of n rounds."""
    k0, k1 = np.uint64(server[0]), np.uint64(server[1])
    unfair = False
    for k in range(n):
        w0, _, _, _ = block(_ZERO, np.uint64(first + k), _SELECT, _ZERO, k0, k1)
        value, fair = bounded(w0, np.uint64(clients))
        who[k] = np.int64(value)
        unfair |= not fair
    if unfair:
        for k in range(n):
            who[k] = one_of(server, first + k, clients)


@compiled
def words_ahead(secrets: Words, first: int, stride: int, n: int, who: Longs, words: Words) -> None:
    """The first two words of the TRIPLES streams of n visits, visit k in round first + k * stride."""
    for k in range(n):
        k0, k1 = np.uint64(secrets[who[k], 0]), np.uint64(secrets[who[k], 1])
        w0, w1, _, _ = block(_ZERO, np.uint64(first + k * stride), _TRIPLES, _ZERO, k0, k1)
        words[0, k] = w0
        words[1, k] = w1


@compiled
def draw_ahead(
    start: Longs,
    item: Ints,
    listed: Ints,
    own: Bits,
    secrets: Words,
    first: int,
    stride: int,
    n: int,
    who: Longs,
    words: Words,
    row: Longs,
    positive: Ints,
    negative: Ints,
    draws: Draws,
) -> None:
    """The triple of each of n visits; negative -1 where the client has nothing to compare."""
    offer = np.uint64(len(listed))
    for k in range(n):
        u = who[k]
        mine = start[u + 1] - start[u]
        if mine == 0 or (mine >= len(listed) and not can_compare(start, item, listed, own, u)):
            negative[k] = -1
            continue
        value, fair = bounded(np.uint64(words[0, k]), np.uint64(mine))
        other, fair_too = bounded(np.uint64(words[1, k]), offer)
        row[k], negative[k] = start[u] + np.int64(value), listed[other]
        if not fair or not fair_too or holds(own, start, item, u, negative[k]):
            round_ = np.uint64(first + k * stride)
            draw_triples(
                start,
                item,
                listed,
                own,
                secrets,
                u,
                1,
                round_,
                _TRIPLES,
                draws.row,
                draws.negative,
                draws.words,
            )
            row[k], negative[k] = draws.row[0], draws.negative[0]
        positive[k] = item[row[k]]


@compiled
def flip_ahead(
    start: Longs, consent: Floats, secrets: Words, per_round: bool, first: int, stride: int, n: int, who: Longs,
    row: Longs, negative: Ints, send: Values,
) -> None:  # fmt: skip
    """The coin of each of n visits."""
    for k in range(n):
        u, round_ = who[k], np.uint64(first + k * stride)
        if negative[k] < 0:
            send[k] = 0
        elif per_round:
            send[k] = coin_at(secrets[u], round_, _CONSENT, row[k] - start[u], consent[row[k]])
        else:
            send[k] = coin_at(secrets[u], round_, _COINS, 0, consent[row[k]])


@compiled(fast=True)
def ascend(
    P: Values, Q: Values, b: Values, u: Index, i: Index, j: Index, send: Any, step: Any, rates: FplRates
) -> None:
    """One triple: everything moves along its gradient at the values before it; send 0 leaves the positive."""
    margin, factors = b[i] - b[j], P.shape[1]
    for f in range(factors):
        margin += P[u, f] * (Q[i, f] - Q[j, f])
    g = rates.one / (rates.one + exp(margin))
    step_i = step * send
    b[i] += step_i * g
    b[j] -= step * g
    for f in range(factors):
        p, qi, qj = P[u, f], Q[i, f], Q[j, f]
        P[u, f] = p + rates.alpha * (g * (qi - qj) - rates.user * p)
        Q[i, f] = qi + step_i * (g * p - rates.positive * qi)
        Q[j, f] = qj - step * (g * p + rates.negative * qj)


@compiled
def tally_ahead(
    n: int, who: Longs, row: Longs, positive: Ints, negative: Ints, send: Values, sent: Bytes, disclosed: Longs,
    item_rows: Longs,
) -> int:  # fmt: skip
    """What n rounds sent: the rows, and which positives they disclosed."""
    rows = 0
    for k in range(n):
        if negative[k] >= 0:
            rows += 1
            item_rows[negative[k]] += 1
            if send[k] > 0:
                rows += 1
                item_rows[positive[k]] += 1
                disclosed[who[k]] += 1 - sent[row[k]]
                sent[row[k]] = 1
    return rows


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
    for part in range(first, last):
        slot, touched, values, senders = (
            out.slot[part],
            out.touched[part],
            out.values[part],
            out.senders[part],
        )
        used = 0
        for begin in range(bounds[part], bounds[part + 1], AHEAD):
            n = min(AHEAD, bounds[part + 1] - begin)
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
        out.used[part] = used
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
