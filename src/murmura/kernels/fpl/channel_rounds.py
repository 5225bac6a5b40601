"""A round of FPL whose updates go through a channel, compiled: every client's rows are sent on their own."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.kernel import VectorSlice
from murmura.kernels.compiled import compiled
from murmura.kernels.fixed_point import add_fixed_point_rows
from murmura.kernels.fpl.arithmetic import Disclosed, Sums, Values, Workspace, disclose, weigh, weight_at
from murmura.kernels.fpl.cohorts import shared_items, visit_client
from murmura.kernels.fpl.triples import FlatPopulation
from murmura.kernels.random.philox import Word


@compiled
def run_channel_round(
    first: int,
    last: int,
    clients: Ints,
    weights: Values | None,
    round_: int,
    vector_slice: VectorSlice,
    work: Workspace,
    sums: Sums,
    total: Longs,
) -> None:
    """Clients first to last of a cohort: their rows of P and of the tally, and what they add to the total."""
    p, moved = np.empty_like(work.model.P[0]), np.empty_like(work.model.P[0])
    people, draws = work.people, work.draws
    draws.send[:] = 1
    for place in range(first, last):
        u, weight = clients[place], weight_at(weights, place)
        total[0] += 1
        n, used = visit_client(u, weight, round_, work, p, moved, 0, sums)
        if n == 0:
            continue
        if work.rules.counted:
            sums.values[:used, -1] = weigh(work.model.rates.one, weight)
        order = np.argsort(sums.touched[:used])
        add_fixed_point_rows(
            order, sums.touched, sums.values, vector_slice, people.secrets[u], np.uint64(round_), total
        )
        for t in range(n):
            if draws.send[t] and vector_slice.place[people.item[draws.row[t]]] >= 0:
                disclose(u, draws.row[t], work.tally.sent, work.tally.disclosed)
        for r in range(used):
            sums.slot[sums.touched[r]] = -1


@compiled
def upload_shared_counts(
    people: FlatPopulation,
    answers: Bools,
    round_: Word,
    vector_slice: VectorSlice,
    total: Longs,
    tally: Disclosed,
) -> None:
    """Every answering client's ones for its shared positives."""
    for u in np.flatnonzero(answers):
        total[0] += 1
        shared = shared_items(people, u, round_, tally)
        values = np.ones((len(shared), 1), np.float64)
        add_fixed_point_rows(
            np.arange(len(shared)), shared, values, vector_slice, people.secrets[u], round_, total
        )
