"""Many rounds of FPL in one call when one client takes part in each: no Python step per round."""

from __future__ import annotations

from typing import Any

import numpy as np

from murmura.core.arrays import Bytes, Ints, Longs
from murmura.kernels.compiled import compiled
from murmura.kernels.fpl.arithmetic import FplRates, Values, disclose
from murmura.kernels.fpl.cohorts import VisitRules, visit_client
from murmura.kernels.fpl.triples import Draws, FlatPopulation
from murmura.kernels.random.draws import one_of
from murmura.kernels.random.philox import Words


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
