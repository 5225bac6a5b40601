"""KGFlex over each person's few features, compiled; the plain twin is `algorithms.kgflex`.

Nothing here is as large as people times features times factors: a client has a row for each of the features she
decides by, and a visit touches those alone.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import Any

import numpy as np

from murmura.algorithms.kgflex.loop_arrays import (
    LEAST,
    ClientRows,
    FeatureRows,
    FeatureScratch,
    FeatureVisitRules,
    GainRules,
)
from murmura.core.arrays import Floats, Ints
from murmura.core.rng import Purpose
from murmura.kernels.client_blocks import (
    ClientBlock,
    Disclosed,
    FlatPopulation,
    Index,
    Values,
    disclose,
    send_rows,
    shares_row,
)
from murmura.kernels.compiled import compiled
from murmura.kernels.fpl.triples import can_compare, draw_triples, holds
from murmura.kernels.philox import Word, draw_below

_GAIN, _TRIPLES, _ZERO = np.uint64(Purpose.GAIN), np.uint64(Purpose.TRIPLES), np.uint64(0)


@compiled
def _gain(rules: GainRules, p: int, n: int, half: int) -> float:
    """`algorithms.kgflex.gain.gain` of one feature, in the same operations."""
    size, t = 2 * half, p + n
    absent_p, absent_n, absent_t = half - p, half - n, size - t
    if rules.measure == 2:
        impurity = 2.0 * (p * n / max(t, 1) + absent_p * absent_n / max(absent_t, 1)) / size
        return float(1.0 - 2.0 * impurity)
    table = rules.table
    present = table[t] - table[p] - table[n]
    absent = table[absent_t] - table[absent_p] - table[absent_n]
    found = 1.0 - (present + absent) / size
    if rules.measure == 1:
        about = (table[size] - table[t] - table[absent_t]) / size
        found = found / max(about, LEAST) if about > LEAST else 0.0
    return float(found)


@compiled
def _count(features: FeatureRows, item: Index, counts: Ints) -> None:
    for at in range(features.start[item], features.start[item + 1]):
        counts[features.feature[at]] += 1


@compiled
def choose_features(
    people: FlatPopulation, features: FeatureRows, rules: GainRules, clients: ClientRows
) -> None:
    """F_u and k_uf of all clients: `informative` of the plain twin."""
    p, n = np.zeros(len(features.hops), np.int32), np.zeros(len(features.hops), np.int32)
    candidates, found = np.empty(len(features.hops), np.int32), np.empty(len(features.hops), np.float64)
    for u in range(len(people.start) - 1):
        if not can_compare(people, u):
            continue
        mine = people.start[u + 1] - people.start[u]
        half = rules.negatives * mine
        for row in range(people.start[u], people.start[u + 1]):
            _count(features, people.item[row], p)
        place = _ZERO
        for _ in range(half):
            j = people.listed[0]
            while True:
                spun, place = draw_below(
                    people.secrets[u], _ZERO, _GAIN, _ZERO, place, np.uint64(rules.edges[-1])
                )
                j = people.listed[np.searchsorted(rules.edges, np.int64(spun), side="right")]
                if not holds(people.own, people.start, people.item, u, j):
                    break
            _count(features, j, n)
        here = 0
        for far in range(2):
            size, limit = 0, rules.second_limit if far else rules.first_limit
            for f in range(len(p)):
                if p[f] > 0 and (features.hops[f] > 1) == (far == 1):
                    gain = _gain(rules, rules.negatives * p[f], n[f], half)
                    if gain > rules.least + LEAST:
                        candidates[size], found[size] = f, -gain
                        size += 1
            order = np.argsort(found[:size], kind="mergesort")
            for k in range(min(limit, size)):
                clients.feature[u, here] = candidates[order[k]]
                clients.k[u, here] = -found[order[k]]
                here += 1
        p[:] = 0
        n[:] = 0


@compiled
def _term(u: Index, s: int, clients: ClientRows, G: Values, b: Values) -> float:
    """k_uf (p_f . g_f + b_f) of one of her features."""
    f, dot = clients.feature[u, s], 0.0
    for d in range(G.shape[1]):
        dot += np.float64(clients.P[u, s, d]) * np.float64(G[f, d])
    return float(np.float64(clients.k[u, s]) * (dot + np.float64(b[f])))


@compiled
def _open(u: Index, clients: ClientRows, G: Values, b: Values, at: FeatureScratch) -> int:
    """Put the features of client u in their places, with their terms of a score; how many there are."""
    m = 0
    while m < clients.feature.shape[1] and clients.feature[u, m] >= 0:
        at.slot[clients.feature[u, m]] = m
        at.value[m] = _term(u, m, clients, G, b)
        at.step[m] = at.out[m] = at.pulls[m] = at.pulled[m] = 0.0
        at.allowed[m] = 0
        m += 1
    return m


@compiled
def _allow(u: Index, round_: Word, at: FeatureScratch) -> None:
    """Flip the coin of every row of client u, and mark the features of the shared ones."""
    start, item, features = at.people.start, at.people.item, at.features
    for place in range(start[u + 1] - start[u]):
        row = int(start[u]) + place
        at.draws.send[place] = shares_row(at.people, u, row, round_)
        if at.draws.send[place]:
            for n in range(features.start[item[row]], features.start[item[row] + 1]):
                s = at.slot[features.feature[n]]
                if s >= 0:
                    at.allowed[s] = 1


@compiled
def _shared_with(item: Index, at: FeatureScratch) -> tuple[int, float]:
    """How many features of an item are hers, and its score."""
    many, score = 0, 0.0
    for n in range(at.features.start[item], at.features.start[item + 1]):
        s = at.slot[at.features.feature[n]]
        if s >= 0:
            many += 1
            score += at.value[s]
    return many, score


@compiled
def _add(item: Index, g: float, shared: bool, u: Index, k: Values, at: FeatureScratch) -> None:
    """Add g k_uf to the sums of the features that an item shares with client u."""
    for n in range(at.features.start[item], at.features.start[item + 1]):
        s = at.slot[at.features.feature[n]]
        if s >= 0:
            step = g * np.float64(k[u, s])
            at.step[s] += step
            at.pulls[s] += 1.0
            if shared:
                at.out[s] += step
                at.pulled[s] += 1.0


@compiled
def visit_client(
    u: Index, rules: FeatureVisitRules, G: Values, b: Values, clients: ClientRows, at: FeatureScratch
) -> int:
    """One visit: P_u moves, and the rows that leave stand at hand, features ascending; how many they are."""
    people, draws = at.people, at.draws
    start, item = people.start, people.item
    if not can_compare(people, u):
        return 0
    m, mine = _open(u, clients, G, b, at), int(start[u + 1] - start[u])
    _allow(u, rules.round, at)
    draw_triples(people, u, mine, rules.round, _TRIPLES, draws)
    for t in range(mine):
        i, j = item[draws.row[t]], draws.negative[t]
        some, x = _shared_with(i, at)
        others, y = _shared_with(j, at)
        if rules.drop and (some == 0 or others == 0):
            continue
        g = 1.0 / (1.0 + exp(min(x - y, 700.0)))
        shared = draws.send[draws.row[t] - start[u]] == 1
        _add(i, g, shared, u, clients.k, at)
        _add(j, -g, shared, u, clients.k, at)
    return _close(u, m, rules, float(mine) ** -rules.power, G, b, clients, at)


@compiled
def _close(
    u: Index,
    m: int,
    rules: FeatureVisitRules,
    scale: float,
    G: Values,
    b: Values,
    clients: ClientRows,
    at: FeatureScratch,
) -> int:
    """Gather the rows that leave, then move P_u; the places are free again."""
    leaving = np.empty(m, np.int64)
    n = 0
    for s in range(m):
        if at.pulled[s] > 0.0 and at.allowed[s]:
            leaving[n] = s
            n += 1
    leaving = leaving[:n]
    leaving = leaving[np.argsort(clients.feature[u, :m][leaving])]
    width = G.shape[1]
    for r in range(n):
        s = leaving[r]
        at.rows[r] = clients.feature[u, s]
        out, f, pull = at.out[s] * scale, at.rows[r], rules.reg * (at.pulled[s] * scale)
        for d in range(width):
            climb = out * np.float64(clients.P[u, s, d])
            at.gradients[r, d] = climb - pull * np.float64(G[f, d]) if rules.reg > 0.0 else climb
        at.gradients[r, width] = out - pull * np.float64(b[f]) if rules.reg > 0.0 else out
        at.gradients[r, width + 1 :] = 1.0  # counts a contributor
        clients.sent[u, s] = 1
    for s in range(m):
        f, step = clients.feature[u, s], rules.alpha * (at.step[s] * scale)
        pull = rules.alpha * rules.reg * (at.pulls[s] * scale)
        for d in range(width):
            p, climb = np.float64(clients.P[u, s, d]), step * np.float64(G[f, d])
            clients.P[u, s, d] = p + (climb - pull * p if rules.reg > 0.0 else climb)
        at.slot[f] = -1
    if rules.clip > 0.0:
        clip_rows(n, width + 1, rules.clip, at.gradients)
    return n


@compiled
def clip_rows(n: int, width: int, clip: float, gradients: Values) -> None:
    """Shrink what one visit adds to at most `clip` in L2."""
    squares = 0.0
    for r in range(n):
        for d in range(width):
            squares += np.float64(gradients[r, d]) ** 2
    shrink = min(1.0, clip / max(sqrt(squares), 1e-300))
    for r in range(n):
        for d in range(width):
            gradients[r, d] = gradients[r, d] * shrink


@compiled
def disclose_shared(u: Index, at: FeatureScratch, tally: Disclosed) -> None:
    """Note the shared rows of client u, of which something leaves."""
    for place in range(at.people.start[u + 1] - at.people.start[u]):
        if at.draws.send[place]:
            disclose(u, at.people.start[u] + place, tally.sent, tally.disclosed)


@compiled
def run_clients(
    rules: FeatureVisitRules, G: Values, b: Values, clients: ClientRows, at: FeatureScratch, block: ClientBlock
) -> None:
    """Some clients of a round: the rows that each of them sends."""
    for place in range(len(block.clients)):
        u = block.clients[place]
        n = visit_client(u, rules, G, b, clients, at)
        if n:
            send_rows(place, at.rows[:n], at.gradients[:n], block)
            disclose_shared(u, at, block.tally)


@compiled
def visit_in_turn(
    order: Ints,
    rules: FeatureVisitRules,
    rate: Any,
    G: Values,
    b: Values,
    clients: ClientRows,
    at: FeatureScratch,
) -> None:
    """One client after the other, each at the model the one before left; every visit is a round of its own."""
    width = G.shape[1]
    for step in range(len(order)):
        round_ = rules.round + np.uint64(step)
        now = FeatureVisitRules(round_, rules.alpha, rules.drop, rules.power, rules.clip, rules.reg)
        for r in range(visit_client(order[step], now, G, b, clients, at)):
            f = at.rows[r]
            for d in range(width):
                G[f, d] += rate * at.gradients[r, d]
            b[f] += rate * at.gradients[r, width]


@compiled
def score_users(
    users: Ints, G: Values, b: Values, clients: ClientRows, features: FeatureRows, scores: Floats
) -> None:
    """Equation (6.12) of every item for some users: (users, items), from zeros."""
    for row in range(len(users)):
        u = users[row]
        for s in range(clients.feature.shape[1]):
            f = clients.feature[u, s]
            if f < 0:
                break
            value = _term(u, s, clients, G, b)
            for at in range(features.items_start[f], features.items_start[f + 1]):
                scores[row, features.item[at]] += value
