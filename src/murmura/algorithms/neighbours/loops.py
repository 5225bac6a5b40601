"""What all clients add to sketches and to pairs, compiled; the plain twin is `client_step`."""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.philox import Word, Words, block
from murmura.kernels.proofs.field import Elements

_ROUNDING, _ZERO = np.uint64(Purpose.ROUNDING), np.uint64(0)


class HeldRows(NamedTuple):
    """Client u has rows of the items start[u] to start[u + 1], ascending."""

    start: Longs  # (clients + 1,)
    item: Ints
    active: Bools  # whether a row has a payload
    placed: Bools  # whether it finds a bin: others are not sent


class SketchLoop(NamedTuple):
    """How means become rows."""

    rows: Floats  # (items, rank) what is meant over
    levels: int
    base: Word
    digits: int


class PairLoop(NamedTuple):
    """Where pairs are counted."""

    candidates: Ints  # (items, most)
    bases: Elements  # (items,)
    digits: Longs  # (items,)
    weights: Elements  # (largest history + 1,) what someone with so many items adds


@compiled
def add_sketches(
    clients: Ints, own: HeldRows, how: SketchLoop, secrets: Words, round_: Word, place: Longs, total: Elements
) -> None:
    """Add everybody's mean, rounded and packed, to the row of each of her items."""
    rank = how.rows.shape[1]
    width = -(-(rank + 1) // how.digits)
    mean, row, u = np.empty(rank), np.empty(width, np.uint64), np.empty(-(-rank // 4) * 4)
    c1 = np.uint64(round_)
    for client in clients:
        first, last = own.start[client], own.start[client + 1]
        if first == last:
            continue
        mean[:] = 0.0
        active = 0
        for at in range(first, last):
            if own.active[at]:
                active += 1
                for f in range(rank):
                    mean[f] += how.rows[own.item[at], f]
        if not active:
            continue
        k0, k1 = np.uint64(secrets[client, 0]), np.uint64(secrets[client, 1])
        for quarter in range(len(u) // 4):
            words = block(np.uint64(quarter), c1, _ROUNDING, _ZERO, k0, k1)
            for low in range(4):
                u[4 * quarter + low] = np.float64(words[low]) * 2.0**-32
        row[:] = _ZERO
        power = np.uint64(1)
        for f in range(rank + 1):
            if f % how.digits == 0:
                power = np.uint64(1)
            level = np.uint64(1)
            if f < rank:
                x = min(max(mean[f] / active, -1.0), 1.0)
                level = np.uint64(min(floor((x + 1) / 2 * how.levels + u[f]), how.levels))
            row[f // how.digits] += power * level
            power *= how.base
        for at in range(first, last):
            if own.active[at] and own.placed[at]:
                start = place[own.item[at]] + 1
                for w in range(width):
                    total[start + w] += row[w]


@compiled
def add_pairs(clients: Ints, own: HeldRows, how: PairLoop, place: Longs, total: Elements) -> None:
    """Add everybody's weight to the counters of her pairs."""
    mark = np.full(len(how.bases), -1, np.int32)
    for client in clients:
        first, last, active = own.start[client], own.start[client + 1], 0
        for at in range(first, last):
            if own.active[at]:
                mark[own.item[at]] = client
                active += 1
        weight = how.weights[active]
        for at in range(first, last):
            item = own.item[at]
            if not (own.active[at] and own.placed[at]):
                continue
            digits, base, start = how.digits[item], how.bases[item], place[item] + 1
            for slot in range(how.candidates.shape[1]):
                named = how.candidates[item, slot]
                if named >= 0 and mark[named] == client:
                    power = weight
                    for _ in range(slot % digits):
                        power *= base
                    total[start + slot // digits] += power


@compiled
def clients_without_bins(own: HeldRows, bin_of: Longs, bins: int) -> Bools:
    """(clients,) whose rows do not all find a bin of their own: `bin_of` (items, 3); by augmenting paths."""
    clients, groups = len(own.start) - 1, bin_of.shape[1]
    lacking = np.zeros(clients, np.bool_)
    holder, seen = np.full(bins, -1, np.int64), np.full(bins, -1, np.int64)
    came, queue = np.empty(bins, np.int64), np.empty(bins + 1, np.int64)
    visit = 0
    for client in range(clients):
        first, last = own.start[client], own.start[client + 1]
        for one in range(first, last):
            visit += 1
            head, tail, end = 0, 1, -1
            queue[0] = one
            while head < tail and end < 0:
                at = queue[head]
                head += 1
                for g in range(groups):
                    bin = bin_of[own.item[at], g]
                    if seen[bin] == visit:
                        continue
                    seen[bin], came[bin] = visit, at
                    if holder[bin] < first:
                        end = bin
                        break
                    queue[tail] = holder[bin]
                    tail += 1
            if end < 0:
                lacking[client] = True
                break
            while end >= 0:
                mover, left = came[end], -1
                for g in range(groups):
                    if holder[bin_of[own.item[mover], g]] == mover:
                        left = bin_of[own.item[mover], g]
                holder[end] = mover
                end = left
    return lacking
