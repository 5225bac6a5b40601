"""Drawing triples and flipping their coins, compiled: a visit's draws are made first, its arithmetic after.

The reference implementation is `algorithms.fpl.draw_triples`; streams and rejections are equal, word by word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Bytes, Ints, Longs
from murmura.core.rng import Purpose
from murmura.kernels.client_blocks import Bits, FlatPopulation, Index
from murmura.kernels.compiled import compiled
from murmura.kernels.philox import Word, Words, block, bounded, coin_at, heads

_COINS, _CONSENT = np.uint64(Purpose.COINS), np.uint64(Purpose.CONSENT)
_ZERO = np.uint64(0)


class Draws(NamedTuple):
    """A visit's triples: the row of the positive, the negative, and whether the positive may be sent."""

    row: Longs
    negative: Ints
    send: Bytes
    words: Words  # drawn ahead

    @staticmethod
    def of_size(triples: int) -> Draws:
        """Buffers for at most so many triples, every positive of which may be sent."""
        row, negative = np.empty(triples, np.int64), np.empty(triples, np.int32)
        return Draws(row, negative, np.ones(triples, np.uint8), np.empty(512, np.uint32))


@compiled(inline=True)  # a call with three arrays costs five times as much as the answer
def holds(own: Bits, start: Longs, item: Ints, u: Index, j: Index) -> bool:
    """Whether j is an item of client u."""
    if own.shape[0]:
        return bool((own[u, j >> 6] >> np.uint64(j & 63)) & np.uint64(1))
    low, high = start[u], start[u + 1]
    while low < high:
        middle = (low + high) >> 1
        if item[middle] < j:
            low = middle + 1
        else:
            high = middle
    return bool(low < start[u + 1] and item[low] == j)


@compiled
def can_compare(people: FlatPopulation, u: Index) -> bool:
    """Whether client u has an item, and lacks one on offer."""
    mine = people.start[u + 1] - people.start[u]
    if mine < len(people.listed):
        return bool(mine > 0)
    for j in people.listed:  # noqa: SIM110 - a compiled loop has no generators
        if not holds(people.own, people.start, people.item, u, j):
            return True
    return False


@compiled
def ahead(words: Words, blocks: int, first: int, k0: Word, k1: Word, round_: Word, purpose: Word) -> None:
    """Words of blocks first, first + 1, ... of a stream."""
    for b in range(blocks):
        w0, w1, w2, w3 = block(np.uint64(first + b), round_, purpose, _ZERO, k0, k1)
        words[4 * b] = w0
        words[4 * b + 1] = w1
        words[4 * b + 2] = w2
        words[4 * b + 3] = w3


@compiled
def draw_triples(people: FlatPopulation, u: Index, n: int, round_: Word, purpose: Word, draws: Draws) -> None:
    """n draws with replacement of a row of client u and an item on offer that she has not."""
    start, item, _, _, _, _, secrets, listed, own = people
    row, negative, _, words = draws
    k0, k1 = np.uint64(secrets[u, 0]), np.uint64(secrets[u, 1])
    first, mine, offer = start[u], np.uint64(start[u + 1] - start[u]), np.uint64(len(listed))
    place, drawn, blocks, t, half = 0, 0, 0, 0, False
    while t < n:
        if place == drawn:
            more = min((2 * (n - t) + 3) // 4, len(words) // 4)
            ahead(words, more, blocks, k0, k1, round_, purpose)
            place, drawn, blocks = 0, 4 * more, blocks + more
        word = np.uint64(words[place])
        place += 1
        if not half:
            value, half = bounded(word, mine)
            row[t] = first + np.int64(value)
        else:
            value, fair = bounded(word, offer)
            negative[t] = listed[value]
            if fair and not holds(own, start, item, u, negative[t]):
                half = False
                t += 1


@compiled
def flip_coins(people: FlatPopulation, u: Index, n: int, round_: Word, draws: Draws) -> None:
    """Whether the positive of each triple may be sent: coin t of the COINS stream, or its row's own coin."""
    start, _, consent, per_round, _, fractional, secrets, _, _ = people
    row, _, send, words = draws
    if per_round:
        for t in range(n):
            send[t] = coin_at(secrets[u], round_, _CONSENT, row[t] - start[u], consent[row[t]])
    elif fractional:
        k0, k1 = np.uint64(secrets[u, 0]), np.uint64(secrets[u, 1])
        for t in range(n):
            place = t % len(words)
            if place == 0:
                ahead(words, min((n - t + 3) // 4, len(words) // 4), t // 4, k0, k1, round_, _COINS)
            send[t] = heads(np.uint64(words[place]), consent[row[t]])
    else:
        for t in range(n):
            send[t] = consent[row[t]] > 0.5
