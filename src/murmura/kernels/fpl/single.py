"""Many rounds of FPL in one call when one client takes part in each: no Python step per round."""

from __future__ import annotations

from typing import Any

import numpy as np

from murmura.core.arrays import Bytes, Ints, Longs
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.fpl.arithmetic import FplRates, Values, disclose, local_passes, user_ascent
from murmura.kernels.fpl.triples import Draws, FlatPopulation, can_compare, draw_triples, flip_coins
from murmura.kernels.random.draws import one_of
from murmura.kernels.random.philox import Words

_TRIPLES, _WARM = np.uint64(Purpose.TRIPLES), np.uint64(Purpose.WARM)


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
    start, item, consent, per_round, everything, fractional, secrets, listed, own = people
    row, negative, send, words = draws
    clients, rows = len(start) - 1, 0
    p, moved = np.empty_like(P[0]), np.empty_like(P[0])
    send[:] = 1
    for t in range(first, first + rounds):
        u, round_ = np.int64(one_of(server, t, clients)), np.uint64(t)
        if not can_compare(start, item, listed, own, u):
            continue
        mine = start[u + 1] - start[u]
        n = mine if triples < 0 else triples
        p[:] = P[u]
        if warm:
            draw_triples(start, item, listed, own, secrets, u, warm * mine, round_, _WARM, row, negative, words)
            local_passes(p, warm * mine, Q, b, item, row, negative, rates)
        draw_triples(start, item, listed, own, secrets, u, n, round_, _TRIPLES, row, negative, words)
        if not everything:
            flip_coins(start, consent, secrets, per_round, fractional, u, n, round_, row, send, words)
        used = user_ascent(p, moved, n, frozen, Q, b, item, row, negative, send, rates, 0, slot, touched, sums)
        P[u] = moved if frozen else p
        disclose(u, n, row, send, sent, disclosed)
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
