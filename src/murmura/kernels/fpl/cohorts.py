"""A round of FPL with many clients, compiled: blocks of clients side by side, added up in the order of blocks.

The blocks of a cohort do not depend on the number of workers, each sums its own clients in their order, and the
sums are added in the order of the blocks: any number of workers gives the same bits. Where one client takes
part in each round, many rounds are one call: no Python step per round.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from murmura.core.arrays import Ints, Longs
from murmura.core.kernel import VectorSlice
from murmura.core.rng import Purpose
from murmura.kernels.client_blocks import (
    ClientBlock,
    Index,
    Sums,
    Values,
    block_of,
    disclose,
    send_rows,
    shared_items,
    weight_at,
)
from murmura.kernels.compiled import compiled
from murmura.kernels.fixed_point import add_fixed_point_rows
from murmura.kernels.fpl.arithmetic import FplModel, Workspace, local_passes, rates_at, user_ascent, weigh
from murmura.kernels.fpl.triples import can_compare, draw_triples, flip_coins
from murmura.kernels.philox import Word, Words, coin_at, one_of

_TRIPLES, _WARM = np.uint64(Purpose.TRIPLES), np.uint64(Purpose.WARM)
_WORK = np.uint64(Purpose.WORK)


@compiled
def run_blocks(
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
    p, moved = np.empty_like(work.model.P[0]), np.empty_like(work.model.P[0])
    work.draws.send[:] = 1
    for block in range(first, last):
        sums, used = block_of(out, block), 0
        for place in range(bounds[block], bounds[block + 1]):
            u, weight, before = cohort[place], weight_at(weights, place), used
            n, used = visit_client(u, weight, round_, work, p, moved, before, sums)
            disclose_all(u, n, work)
            count_senders(u, n, before, used, work, sums)
            if work.rules.counted:
                count_contributor(u, n, weigh(work.model.rates.one, weight), work, sums)
        out.used[block] = used


@compiled
def visit_client(
    u: Index, weight: Any, round_: int, work: Workspace, p: Values, moved: Values, used: int, sums: Sums
) -> tuple[int, int]:
    """One visit: the triples it used, none if there is nothing to compare, and the rows in use afterwards."""
    model, people, rules, draws, _ = work
    if not can_compare(people, u):
        return 0, used
    mine, at = people.start[u + 1] - people.start[u], np.uint64(round_)
    mean: Any = rules.triples[u]
    n = int(mean)
    if coin_at(people.secrets[u], at, _WORK, 0, mean - n):  # the average is no whole number
        n += 1
    p[:] = model.P[u]
    if rules.warm:
        m = rules.warm * mine
        draw_triples(people, u, m, at, _WARM, draws)
        local_passes(p, m, work)
    draw_triples(people, u, n, at, _TRIPLES, draws)
    if not people.everything:
        flip_coins(people, u, n, at, draws)
    used = user_ascent(p, moved, weight, n, work, used, sums)
    model.P[u] = moved if rules.frozen else p
    return n, used


@compiled
def disclose_all(u: Index, n: int, work: Workspace) -> None:
    """Note the positives of client u that leave."""
    (row, _, send, _), (sent, disclosed, _) = work.draws, work.tally
    for t in range(n):
        if send[t]:
            disclose(u, row[t], sent, disclosed)


@compiled
def count_senders(u: Index, n: int, before: int, used: int, work: Workspace, sums: Sums) -> None:
    """Count client u at each row it sends; those from `before` to `used` are new."""
    item, (row, negative, send, _) = work.people.item, work.draws
    slot, _, _, senders, last, _ = sums
    for k in range(before, used):
        senders[k] = 0
        last[k] = -1
    for t in range(n):
        k = slot[negative[t]]
        if last[k] != u:
            last[k] = u
            senders[k] += 1
        if send[t]:
            k = slot[item[row[t]]]
            if last[k] != u:
                last[k] = u
                senders[k] += 1


@compiled
def count_contributor(u: Index, n: int, weight: Any, work: Workspace, sums: Sums) -> None:
    """Add the weight of client u, the last to be counted, to the last column of the rows it sent."""
    (row, negative, _, _), (slot, _, values, _, last, _) = work.draws, sums
    positive, column = work.people.item, sums.values.shape[1] - 1
    for t in range(n):
        for item in (negative[t], positive[row[t]]):
            k = slot[item]
            if k >= 0 and last[k] == u:
                last[k] = -1
                values[k, column] += weight


@compiled
def pass_block(first: int, last: int, passes: int, round_: Word, purpose: Word, work: Workspace) -> None:
    """Local passes of clients first to last over a model that stays as it is."""
    people = work.people
    for u in range(first, last):
        n = passes * (people.start[u + 1] - people.start[u])
        if n and can_compare(people, u):
            draw_triples(people, u, n, round_, purpose, work.draws)
            local_passes(work.model.P[u], n, work)


@compiled
def single_rounds(first: int, rounds: int, server: Words, step: Any, work: Workspace, sums: Sums) -> int:
    """Rounds first, first + 1, ... of one client each; changes P, Q, b and the tally, returns the rows sent."""
    clients, rows, (P, Q, b, _) = len(work.people.start) - 1, 0, work.model
    p, moved = np.empty_like(P[0]), np.empty_like(P[0])
    work.draws.send[:] = 1
    for t in range(first, first + rounds):
        u = np.int64(one_of(server, t, clients))
        rates, rate = rates_at(work.model.rates, step, t, b)
        model = FplModel(P, Q, b, rates)
        at = Workspace(model, work.people, work.rules, work.draws, work.tally)
        n, used = visit_client(u, None, t, at, p, moved, 0, sums)
        disclose_all(u, n, work)
        apply_rows(used, rate, model, sums, work.tally.item_rows)
        rows += used
    return rows


@compiled
def apply_rows(used: int, step: Any, model: FplModel, sums: Sums, item_rows: Longs) -> None:
    """The server's plain sum: the model climbs along the visit's rows, which are closed again."""
    (_, Q, b, _), (slot, touched, values, _, _, _) = model, sums
    factors = Q.shape[1]
    for k in range(used):
        item = touched[k]
        for f in range(factors):
            Q[item, f] += step * values[k, f]
        b[item] += step * values[k, factors]
        item_rows[item] += 1
        slot[item] = -1


@compiled
def run_channel_round(round_: int, vector_slice: VectorSlice, work: Workspace, block: ClientBlock) -> None:
    """Clients whose updates go through a channel, every client's rows on their own."""
    p, moved = np.empty_like(work.model.P[0]), np.empty_like(work.model.P[0])
    people, draws, sums = work.people, work.draws, block.sums
    draws.send[:] = 1
    for place in range(len(block.clients)):
        u, weight = block.clients[place], weight_at(block.weights, place)
        n, used = visit_client(u, weight, round_, work, p, moved, 0, sums)
        if n == 0:
            continue
        if work.rules.counted:
            sums.values[:used, -1] = weigh(work.model.rates.one, weight)
        order = np.argsort(sums.touched[:used])
        add_fixed_point_rows(
            order, sums.touched, sums.values, vector_slice, people.secrets[u], block.round, block.total
        )
        for t in range(n):
            if draws.send[t] and vector_slice.place[people.item[draws.row[t]]] >= 0:
                disclose(u, draws.row[t], work.tally.sent, work.tally.disclosed)
        for r in range(used):
            sums.slot[sums.touched[r]] = -1


@compiled
def send_shared_counts(block: ClientBlock) -> None:
    """A one for every positive that a client shares."""
    for place in range(len(block.clients)):
        shared = shared_items(place, block)
        send_rows(place, shared, np.ones((len(shared), 1), block.sums.values.dtype), block)
