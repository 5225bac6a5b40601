"""What clients add to normalised sums, through a channel, compiled; the plain twin is `client_step`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Ints, Longs, Singles
from murmura.core.kernel import VectorSlice
from murmura.kernels.compiled import compiled
from murmura.kernels.fixed_point import add_fixed_point_rows
from murmura.kernels.philox import Word, Words


class PersonRows(NamedTuple):
    """Who shares what: client u has persons first[u] .. first[u + 1] - 1, person v ranks start[v] .. ."""

    first: Longs  # (clients + 1,)
    start: Longs  # (persons + 1,)
    rank: Ints  # ascending for each person


@compiled
def add_counts(
    clients: Ints,
    rows: PersonRows,
    n: int,
    secrets: Words,
    round_: Word,
    vector_slice: VectorSlice,
    scratch: Singles,
    total: Longs,
) -> None:
    """Add 1 / sqrt(n) for each item of each person; `scratch` has a row for every item, zeros each time."""
    for client in clients:
        first, last = rows.first[client], rows.first[client + 1]
        ranks = rows.rank[rows.start[first] : rows.start[last]]
        if last - first > 1:
            ranks = np.unique(ranks)
        for person in range(first, last):
            begin, end = rows.start[person], rows.start[person + 1]
            value = np.float32((end - begin) ** -0.5)
            for at in range(begin, end):
                scratch[rows.rank[at], 0] += value
        _send(ranks, scratch, secrets[client], round_, vector_slice, total)


@compiled
def add_normalised_pairs(
    clients: Ints,
    rows: PersonRows,
    n: int,
    secrets: Words,
    round_: Word,
    vector_slice: VectorSlice,
    scratch: Singles,
    total: Longs,
) -> None:
    """Add x x' / n of each person; `scratch` has a row for every pair of the core, zeros before and after."""
    for client in clients:
        first, last = rows.first[client], rows.first[client + 1]
        size = 0
        for person in range(first, last):
            own = rows.start[person + 1] - rows.start[person]
            size += own * (own + 1) // 2
        places = np.empty(size, np.int32)
        filled = 0
        for person in range(first, last):
            begin, end = rows.start[person], rows.start[person + 1]
            alone, pair = np.float32(1.0 / (end - begin)), np.float32(np.sqrt(2.0) / (end - begin))
            for a in range(begin, end):
                one = np.int64(rows.rank[a])
                row = one * n - one * (one - 1) // 2 - one
                for b in range(a, end):
                    place = row + rows.rank[b]
                    scratch[place, 0] += alone if a == b else pair
                    places[filled] = place
                    filled += 1
        if last - first > 1:
            places = np.unique(places)
        _send(places, scratch, secrets[client], round_, vector_slice, total)


@compiled
def _send(
    rows: Ints, scratch: Singles, key: Words, round_: Word, vector_slice: VectorSlice, total: Longs
) -> None:
    """Add a client's rows to the total, and leave zeros."""
    values = np.empty((len(rows), 1), np.float32)
    for at in range(len(rows)):
        values[at, 0] = scratch[rows[at], 0]
        scratch[rows[at], 0] = 0.0
    add_fixed_point_rows(np.arange(len(rows)), rows, values, vector_slice, key, round_, total)
