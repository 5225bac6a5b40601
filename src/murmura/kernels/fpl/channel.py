"""A round of FPL whose updates go through a channel, compiled: every client's rows are sent on their own."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools, Bytes, Ints, Longs
from murmura.core.kernel import VectorSlice
from murmura.kernels.channel import add_fixed_point_rows
from murmura.kernels.compiled import compiled
from murmura.kernels.fpl.arithmetic import FplRates, Values
from murmura.kernels.fpl.cohorts import VisitRules, shares_row, visit_client
from murmura.kernels.fpl.triples import Draws, FlatPopulation, Index
from murmura.kernels.random.philox import Word


@compiled
def run_channel_round(
    first: int,
    last: int,
    cohort: Ints,
    visit: VisitRules,
    ones: bool,
    vector_slice: VectorSlice,
    P: Values,
    Q: Values,
    b: Values,
    people: FlatPopulation,
    rates: FplRates,
    draws: Draws,
    slot: Ints,
    touched: Ints,
    values: Values,
    total: Longs,
    sent: Bytes,
    disclosed: Longs,
) -> None:
    """Clients first to last of a cohort: their rows of P and of the tally, and what they add to the total."""
    p, moved = np.empty_like(P[0]), np.empty_like(P[0])
    draws.send[:] = 1
    for k in range(first, last):
        u = cohort[k]
        total[0] += 1
        n, used = visit_client(u, visit, P, Q, b, people, rates, draws, p, moved, 0, slot, touched, values)
        if n == 0:
            continue
        order = np.argsort(touched[:used])
        add_fixed_point_rows(
            order, touched, values, ones, vector_slice, people.secrets[u], np.uint64(visit.round), total
        )
        disclose_inside(u, n, people.item, vector_slice.place, draws.row, draws.send, sent, disclosed)
        for r in range(used):
            slot[touched[r]] = -1


@compiled
def disclose_inside(
    u: Index, n: int, item: Ints, place: Longs, row: Longs, send: Bytes, sent: Bytes, disclosed: Longs
) -> None:
    """Note the positives of client u that leave: those in the block."""
    for t in range(n):
        if send[t] and sent[row[t]] == 0 and place[item[row[t]]] >= 0:
            sent[row[t]] = 1
            disclosed[u] += 1


@compiled
def upload_shared_counts(
    people: FlatPopulation,
    answers: Bools,
    round_: Word,
    vector_slice: VectorSlice,
    total: Longs,
    sent: Bytes,
    disclosed: Longs,
) -> None:
    """Every answering client's ones for its shared positives."""
    for u in range(len(people.start) - 1):
        if not answers[u]:
            continue
        total[0] += 1
        mine = people.item[people.start[u] : people.start[u + 1]]
        shared = np.empty(len(mine), np.int32)
        n = 0
        for place in range(len(mine)):
            row = people.start[u] + place
            if shares_row(people, u, row, round_):
                shared[n] = mine[place]
                n += 1
                if sent[row] == 0:
                    sent[row] = 1
                    disclosed[u] += 1
        values = np.ones((n, 1), np.float64)
        add_fixed_point_rows(
            np.arange(n), shared, values, False, vector_slice, people.secrets[u], round_, total
        )
