"""One triple a visit, compiled: sFPL, a million rounds of one client in one call, and pFPL, rounds of many.

With one triple there is nothing to reuse within a visit. Draws do not depend on the model, so those of some
hundred visits are made first, in passes that each wait for memory once: the processor fetches the rows of the
next visits while it works on this one. With one client a round the sum of a visit is its one gradient, so the
model moves in place: stochastic gradient ascent. Many clients are added up in blocks, as in `cohorts`.
"""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

import numpy as np

from murmura.core.arrays import Ints, Longs
from murmura.core.rng import Purpose
from murmura.kernels.client_blocks import (
    Disclosed,
    FlatPopulation,
    Index,
    Sums,
    Values,
    block_of,
    disclose,
    open_row,
    weight_at,
)
from murmura.kernels.compiled import compiled
from murmura.kernels.fpl.arithmetic import FplRates, Workspace, rates_at, weigh
from murmura.kernels.fpl.triples import Draws, can_compare, draw_triples, holds
from murmura.kernels.philox import Words, block, bounded, coin_at, one_of

_TRIPLES, _COINS = np.uint64(Purpose.TRIPLES), np.uint64(Purpose.COINS)
_SELECT, _CONSENT, _ZERO = np.uint64(Purpose.SELECT), np.uint64(Purpose.CONSENT), np.uint64(0)
AHEAD = 256  # rounds drawn at once


class VisitsAhead(NamedTuple):
    """The draws of up to AHEAD visits of one triple each."""

    who: Longs
    row: Longs  # of the positive
    positive: Ints
    negative: Ints  # -1 where the client has nothing to compare
    send: Values  # 1 where the positive may be sent, else 0, in the precision of the model
    words: Words  # (2, AHEAD)


@compiled
def empty_visits(P: Values) -> VisitsAhead:
    """Room for the draws; every positive may be sent."""
    who, row, positive = np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int32)
    negative, words = np.empty(AHEAD, np.int32), np.empty((2, AHEAD), np.uint32)
    return VisitsAhead(who, row, positive, negative, np.ones(AHEAD, P.dtype), words)


@compiled
def stochastic_rounds(first: int, rounds: int, server: Words, step: Any, work: Workspace) -> int:
    """Rounds first, first + 1, ...; changes P, Q, b and the tally, returns the rows sent."""
    (P, Q, b, at), rows, clients = work.model, 0, len(work.people.start) - 1
    visits, rates, rate, falling = empty_visits(P), at, step, at.decay != 0.0
    who, _, positive, negative, send, _ = visits
    for begin in range(first, first + rounds, AHEAD):
        n = min(AHEAD, first + rounds - begin)
        choose_ahead(server, begin, n, clients, who)
        visit_ahead(work.people, begin, 1, n, visits, work.draws)
        for k in range(n):
            if falling:
                rates, rate = rates_at(at, step, begin + k, b)
            if negative[k] >= 0:
                ascend(P, Q, b, rates, who[k], positive[k], negative[k], send[k], rate)
        rows += tally_ahead(n, visits, work.tally)
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
def visit_ahead(
    people: FlatPopulation, first: int, stride: int, n: int, visits: VisitsAhead, draws: Draws
) -> None:
    """The triple and the coin of each of n visits, visit k in round first + k * stride."""
    words_ahead(people.secrets, first, stride, n, visits.who, visits.words)
    draw_ahead(people, first, stride, n, visits, draws)
    if not people.everything:
        flip_ahead(people, first, stride, n, visits)


@compiled
def words_ahead(secrets: Words, first: int, stride: int, n: int, who: Longs, words: Words) -> None:
    """The first two words of the TRIPLES streams of n visits."""
    for k in range(n):
        k0, k1 = np.uint64(secrets[who[k], 0]), np.uint64(secrets[who[k], 1])
        w0, w1, _, _ = block(_ZERO, np.uint64(first + k * stride), _TRIPLES, _ZERO, k0, k1)
        words[0, k] = w0
        words[1, k] = w1


@compiled
def draw_ahead(
    people: FlatPopulation, first: int, stride: int, n: int, visits: VisitsAhead, draws: Draws
) -> None:
    """The triple of each of n visits; negative -1 where the client has nothing to compare."""
    start, item, _, _, _, _, _, listed, own = people
    who, row, positive, negative, _, words = visits
    offer = np.uint64(len(listed))
    for k in range(n):
        u = who[k]
        mine = start[u + 1] - start[u]
        if mine == 0 or (mine >= len(listed) and not can_compare(people, u)):
            negative[k] = -1
            continue
        value, fair = bounded(np.uint64(words[0, k]), np.uint64(mine))
        other, fair_too = bounded(np.uint64(words[1, k]), offer)
        row[k], negative[k] = start[u] + np.int64(value), listed[other]
        if not fair or not fair_too or holds(own, start, item, u, negative[k]):
            draw_triples(people, u, 1, np.uint64(first + k * stride), _TRIPLES, draws)
            row[k], negative[k] = draws.row[0], draws.negative[0]
        positive[k] = item[row[k]]


@compiled
def flip_ahead(people: FlatPopulation, first: int, stride: int, n: int, visits: VisitsAhead) -> None:
    """The coin of each of n visits."""
    start, _, consent, per_round, _, _, secrets, _, _ = people
    who, row, _, negative, send, _ = visits
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
    P: Values, Q: Values, b: Values, rates: FplRates, u: Index, i: Index, j: Index, send: Any, step: Any
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
def tally_ahead(n: int, visits: VisitsAhead, tally: Disclosed) -> int:
    """What n rounds sent: the rows, and which positives they disclosed."""
    (who, row, positive, negative, send, _), (sent, disclosed, item_rows) = visits, tally
    rows = 0
    for k in range(n):
        if negative[k] >= 0:
            rows += 1
            item_rows[negative[k]] += 1
            if send[k] > 0:
                rows += 1
                item_rows[positive[k]] += 1
                disclose(who[k], row[k], sent, disclosed)
    return rows


@compiled
def run_single_triples(
    first: int,
    last: int,
    bounds: Longs,
    cohort: Ints,
    weights: Values | None,
    round_: int,
    work: Workspace,
    out: Sums,
) -> None:
    """The clients of blocks first to last: their rows of P, of `out` and of the tally."""
    (P, Q, b, rates), (sent, disclosed, _) = work.model, work.tally
    visits = empty_visits(P)
    who, row, positive, negative, send, _ = visits
    for part in range(first, last):
        sums, used = block_of(out, part), 0
        slot, touched, values, senders, _, _ = sums
        for begin in range(bounds[part], bounds[part + 1], AHEAD):
            n = min(AHEAD, bounds[part + 1] - begin)
            for k in range(n):
                who[k] = cohort[begin + k]
            visit_ahead(work.people, round_, 0, n, visits, work.draws)
            for k in range(n):
                i, j, weight = positive[k], negative[k], weight_at(weights, begin + k)
                if j < 0:
                    continue
                used = send_row(j, used, slot, touched, values, senders)
                if send[k] > 0:
                    used = send_row(i, used, slot, touched, values, senders)
                    disclose(who[k], row[k], sent, disclosed)
                user_ascent_step(P, Q, b, rates, who[k], i, j, send[k], weight, values, slot[i], slot[j])
            if work.rules.counted:
                count_contributors(begin, n, visits, weights, rates.one, sums)
        out.used[part] = used


@compiled
def count_contributors(
    begin: int, n: int, visits: VisitsAhead, weights: Values | None, one: Any, sums: Sums
) -> None:
    """Add the weights of the clients of n visits to the last column of the rows they sent."""
    (_, _, positive, negative, send, _), (slot, _, values, _, _, _) = visits, sums
    last = values.shape[1] - 1
    for k in range(n):
        if negative[k] >= 0:
            weight = weigh(one, weight_at(weights, begin + k))
            values[slot[negative[k]], last] += weight
            if send[k] > 0:
                values[slot[positive[k]], last] += weight


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
    Q: Values,
    b: Values,
    rates: FplRates,
    u: Index,
    i: Index,
    j: Index,
    send: Any,
    weight: Any,
    values: Values,
    place_i: Index,
    place_j: Index,
) -> None:
    """One triple of client u: weighted gradients to its items' rows, and p_u. A loop each runs in lanes."""
    margin, n = b[i] - b[j], P.shape[1]
    for f in range(n):
        margin += P[u, f] * (Q[i, f] - Q[j, f])
    g = rates.one / (rates.one + exp(margin))
    if send > 0:
        for f in range(n):
            values[place_i, f] += weigh(g * P[u, f] - rates.positive * Q[i, f], weight)
        values[place_i, n] += weigh(g, weight)
    for f in range(n):
        values[place_j, f] -= weigh(g * P[u, f] + rates.negative * Q[j, f], weight)
    values[place_j, n] -= weigh(g, weight)
    for f in range(n):
        P[u, f] += rates.alpha * (g * (Q[i, f] - Q[j, f]) - rates.user * P[u, f])
