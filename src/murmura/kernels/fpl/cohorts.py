"""A round of FPL with many clients, compiled: blocks of clients side by side, added up in the order of blocks.

The blocks of a cohort do not depend on the number of workers, each sums its own clients in their order, and the
sums are added in the order of the blocks: any number of workers gives the same bits. Where one client takes
part in each round, many rounds are one call: no Python step per round.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from murmura.core.arrays import Bools, Bytes, Ints, Longs
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.fpl.arithmetic import FplRates, Values, disclose, local_passes, user_ascent
from murmura.kernels.fpl.triples import Draws, FlatPopulation, Index, can_compare, draw_triples, flip_coins
from murmura.kernels.random.draws import coin_at, one_of
from murmura.kernels.random.philox import Word, Words

_TRIPLES, _WARM = np.uint64(Purpose.TRIPLES), np.uint64(Purpose.WARM)
_COINS, _CONSENT = np.uint64(Purpose.COINS), np.uint64(Purpose.CONSENT)


class Sums(NamedTuple):
    """What the clients of each block send, added up: a row for every item that was sent."""

    slot: Ints  # (blocks, items) -1: where an item's row is
    touched: Ints  # (blocks, items) which item a row is of
    values: Values  # (blocks, items, factors + 1)
    senders: Ints  # (blocks, items) how many clients sent the row
    last: Ints  # (blocks, items) which client sent it last
    used: Longs  # (blocks,)


class VisitRules(NamedTuple):
    """What clients do in this round."""

    round: int
    triples: int  # -1: the client's own number of rows
    warm: int
    frozen: bool


@compiled
def run_blocks(
    first: int,
    last: int,
    bounds: Longs,
    cohort: Ints,
    visit: VisitRules,
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
    item = people.item
    row, negative, send, _ = draws
    p, moved = np.empty_like(P[0]), np.empty_like(P[0])
    send[:] = 1
    rows = 0
    for block in range(first, last):
        slot, touched, values = out.slot[block], out.touched[block], out.values[block]
        senders, latest = out.senders[block], out.last[block]
        used = 0
        for place in range(bounds[block], bounds[block + 1]):
            u, before = cohort[place], used
            n, used = visit_client(
                u, visit, P, Q, b, people, rates, draws, p, moved, before, slot, touched, values
            )
            disclose(u, n, row, send, sent, disclosed)
            for k in range(before, used):
                senders[k] = 0
                latest[k] = -1
            rows += count_rows(u, n, item, row, negative, send, slot, senders, latest)
        out.used[block] = used
    return rows


@compiled
def visit_client(
    u: Index,
    visit: VisitRules,
    P: Values,
    Q: Values,
    b: Values,
    people: FlatPopulation,
    rates: FplRates,
    draws: Draws,
    p: Values,
    moved: Values,
    used: int,
    slot: Ints,
    touched: Ints,
    values: Values,
) -> tuple[int, int]:
    """One visit: the triples it used, none if there is nothing to compare, and the rows in use afterwards."""
    start, item, consent, per_round, everything, fractional, secrets, listed, own = people
    row, negative, send, words = draws
    if not can_compare(start, item, listed, own, u):
        return 0, used
    mine, round_ = start[u + 1] - start[u], np.uint64(visit.round)
    n = mine if visit.triples < 0 else visit.triples
    p[:] = P[u]
    if visit.warm:
        m = visit.warm * mine
        draw_triples(start, item, listed, own, secrets, u, m, round_, _WARM, row, negative, words)
        local_passes(p, m, Q, b, item, row, negative, rates)
    draw_triples(start, item, listed, own, secrets, u, n, round_, _TRIPLES, row, negative, words)
    if not everything:
        flip_coins(start, consent, secrets, per_round, fractional, u, n, round_, row, send, words)
    used = user_ascent(
        p, moved, n, visit.frozen, Q, b, item, row, negative, send, rates, used, slot, touched, values
    )
    P[u] = moved if visit.frozen else p
    return n, used


@compiled
def count_rows(
    u: Index,
    n: int,
    item: Ints,
    row: Longs,
    negative: Ints,
    send: Bytes,
    slot: Ints,
    senders: Ints,
    last: Ints,
) -> int:
    """The different rows client u sends."""
    rows = 0
    for t in range(n):
        k = slot[negative[t]]
        if last[k] != u:
            last[k] = u
            senders[k] += 1
            rows += 1
        if send[t]:
            k = slot[item[row[t]]]
            if last[k] != u:
                last[k] = u
                senders[k] += 1
                rows += 1
    return rows


@compiled
def merge_blocks(out: Sums, touched: Bools, total: Values, senders: Longs) -> None:
    """Add the blocks in their order to `total`, whose touched rows start at zero, and close their rows."""
    width = total.shape[1]
    for block in range(len(out.used)):
        for k in range(out.used[block]):
            item = out.touched[block, k]
            if not touched[item]:
                touched[item] = True
                senders[item] = 0
                for f in range(width):
                    total[item, f] = 0
            for f in range(width):
                total[item, f] += out.values[block, k, f]
            senders[item] += out.senders[block, k]
            out.slot[block, item] = -1


@compiled
def pass_block(
    first: int,
    last: int,
    passes: int,
    round_: Word,
    purpose: Word,
    P: Values,
    Q: Values,
    b: Values,
    people: FlatPopulation,
    rates: FplRates,
    draws: Draws,
) -> None:
    """Local passes of clients first to last over a model that stays as it is."""
    start, item, _, _, _, _, secrets, listed, own = people
    row, negative, _, words = draws
    for u in range(first, last):
        n = passes * (start[u + 1] - start[u])
        if n and can_compare(start, item, listed, own, u):
            draw_triples(start, item, listed, own, secrets, u, n, round_, purpose, row, negative, words)
            local_passes(P[u], n, Q, b, item, row, negative, rates)


@compiled
def shares_row(people: FlatPopulation, u: Index, row: int, round_: Word) -> bool:
    """Whether client u shares a row of its history in an exchange that uses every row once."""
    chance, place = people.consent[row], row - int(people.start[u])
    if people.per_round:
        chance = 1.0 if coin_at(people.secrets[u], round_, _CONSENT, place, chance) else 0.0
    return coin_at(people.secrets[u], round_, _COINS, place, chance)


@compiled
def count_shared(
    people: FlatPopulation, answers: Bools, round_: Word, sent: Bytes, disclosed: Longs, counts: Longs
) -> int:
    """Every answering client's ones for its shared positives, summed into `counts`; the rows they send."""
    rows = 0
    for u in range(len(people.start) - 1):
        if not answers[u]:
            continue
        for row in range(people.start[u], people.start[u + 1]):
            if shares_row(people, u, row, round_):
                counts[people.item[row]] += 1
                rows += 1
                if sent[row] == 0:
                    sent[row] = 1
                    disclosed[u] += 1
    return rows


@compiled
def single_rounds(
    first: int,
    rounds: int,
    server: Words,
    triples: int,  # -1: the client's own number of rows
    warm: int,
    frozen: bool,
    step: Any,
    P: Values,
    Q: Values,
    b: Values,
    people: FlatPopulation,
    rates: FplRates,
    draws: Draws,
    slot: Ints,  # (items,) -1: where an item's row of `sums` is
    touched: Ints,  # (rows of sums,)
    sums: Values,  # (rows of sums, factors + 1)
    sent: Bytes,
    disclosed: Longs,
    item_rows: Longs,
) -> int:
    """Rounds first, first + 1, ... of one client each; changes P, Q, b and the tally, returns the rows sent."""
    clients, rows = len(people.start) - 1, 0
    p, moved = np.empty_like(P[0]), np.empty_like(P[0])
    draws.send[:] = 1
    for t in range(first, first + rounds):
        u, visit = np.int64(one_of(server, t, clients)), VisitRules(t, triples, warm, frozen)
        n, used = visit_client(u, visit, P, Q, b, people, rates, draws, p, moved, 0, slot, touched, sums)
        disclose(u, n, draws.row, draws.send, sent, disclosed)
        apply_rows(used, step, Q, b, slot, touched, sums, item_rows)
        rows += used
    return rows


@compiled
def apply_rows(
    used: int, step: Any, Q: Values, b: Values, slot: Ints, touched: Ints, sums: Values, item_rows: Longs
) -> None:
    """The server's plain sum: the model climbs along the visit's rows, which are closed again."""
    factors = Q.shape[1]
    for k in range(used):
        item = touched[k]
        for f in range(factors):
            Q[item, f] += step * sums[k, f]
        b[item] += step * sums[k, factors]
        item_rows[item] += 1
        slot[item] = -1
