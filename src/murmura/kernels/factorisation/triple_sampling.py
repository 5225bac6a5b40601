"""Training triples (user, own item, other item) of a whole epoch, drawn in bulk from counter-based streams.

The same words in the same order as `core.rng.Stream.below`. The loops are flat on purpose: an array handed to a
function with a loop of its own is counted in and out each time, which costs more than the draw.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.interactions import Interactions
from murmura.kernels.compiled import compiled
from murmura.kernels.philox import Word, Words, fill_words
from murmura.kernels.sparse import frozen

_LOW, _HALF, _ZERO, _ONE = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(0), np.uint64(1)
_AHEAD = 64  # words drawn at once when the first estimate was too short


class UserItems(NamedTuple):
    """Who holds what: user u holds item[start[u]:start[u + 1]], ascending; `listed` are the items on offer."""

    start: Longs  # (users + 1,)
    item: Ints  # (rows,)
    listed: Ints  # (items on offer,)

    @staticmethod
    def of(train: Interactions) -> UserItems:
        """The training rows; on offer is what occurs in them."""
        return UserItems.one_type(train.by_user.start, train.by_user.index, np.flatnonzero(train.item_counts))

    @staticmethod
    def newcomer(own: Ints, listed: NDArray[Any]) -> UserItems:
        """One user who holds `own`, ascending."""
        return UserItems.one_type(np.array([0, len(own)]), own, listed)

    @staticmethod
    def one_type(start: NDArray[Any], item: NDArray[Any], listed: NDArray[Any]) -> UserItems:
        """Read-only, so that a compiled loop meets one type whoever made the arrays."""
        return UserItems(frozen(start, np.int64), frozen(item, np.int32), frozen(listed, np.int32))

    def without_owners(self) -> UserItems:
        """The same users and items on offer, nobody holding any: what is drawn may be one's own."""
        return self._replace(start=frozen(np.zeros(len(self.start)), np.int64))

    def can_compare(self, n_items: int) -> Bools:
        """Which users hold something, but not everything on offer: the others have no triple."""
        able = np.zeros(len(self.start) - 1, np.bool_)
        _mark_able(self, np.zeros(n_items, np.bool_), able)
        return able


@compiled
def _mark(owned: UserItems, u: int, own: Bools) -> int:
    """Mark the items of u in `own`; how many of the items on offer are not hers."""
    other = len(owned.listed)
    for row in range(owned.start[u], owned.start[u + 1]):
        if not own[owned.item[row]]:
            own[owned.item[row]] = True
            other -= 1
    return other


@compiled
def _clear(owned: UserItems, u: int, own: Bools) -> None:
    for row in range(owned.start[u], owned.start[u + 1]):
        own[owned.item[row]] = False


@compiled
def _mark_able(owned: UserItems, own: Bools, able: Bools) -> None:
    for u in range(len(able)):
        able[u] = owned.start[u + 1] > owned.start[u] and _mark(owned, u, own) > 0
        _clear(owned, u, own)


@compiled
def draw_user(
    owned: UserItems, u: int, key: Words, c1: Word, c2: Word, own: Bools, words: Words, pos: Ints, neg: Ints
) -> None:
    """The first len(pos) triples of a user's stream; her items are marked in `own`, some on offer are not."""
    first, n, m = owned.start[u], np.uint64(owned.start[u + 1] - owned.start[u]), np.uint64(len(owned.listed))
    unfair_n, unfair_m = (_ONE << _HALF) % n, (_ONE << _HALF) % m
    end = min(2 * len(pos) + len(pos) // 8 + 8, len(words)) // 4 * 4
    fill_words(key, c1, c2, _ZERO, _ZERO, words[:end])
    at, block = 0, end // 4
    for t in range(len(pos)):
        while True:
            if at == end:
                fill_words(key, c1, c2, _ZERO, np.uint64(block), words[:_AHEAD])
                at, end, block = 0, _AHEAD, block + _AHEAD // 4
            product = np.uint64(words[at]) * n
            at += 1
            if product & _LOW >= unfair_n:
                break
        pos[t] = owned.item[first + np.int64(product >> _HALF)]
        while True:
            if at == end:
                fill_words(key, c1, c2, _ZERO, np.uint64(block), words[:_AHEAD])
                at, end, block = 0, _AHEAD, block + _AHEAD // 4
            product = np.uint64(words[at]) * m
            at += 1
            j = owned.listed[np.int64(product >> _HALF)]
            if product & _LOW >= unfair_m and not own[j]:
                break
        neg[t] = j


@compiled
def draw_grouped(
    users: Longs,
    owned: UserItems,
    keys: Words,
    c1: Word,
    c2: Word,
    own: Bools,
    words: Words,
    who: Ints,
    pos: Ints,
    neg: Ints,
) -> int:
    """As many triples as rows for each of `users`, one user after the other, each from her own stream.

    All of them can compare. `own` comes in and goes out unmarked. Returns how many triples were written.
    """
    at = 0
    for u in users:
        end = at + owned.start[u + 1] - owned.start[u]
        _mark(owned, u, own)
        draw_user(owned, u, keys[u], c1, c2, own, words, pos[at:end], neg[at:end])
        _clear(owned, u, own)
        for t in range(at, end):
            who[t] = u
        at = end
    return at


@compiled
def draw_places(n: Longs, key: Words, c1: Word, c2: Word, words: Words, out: Longs) -> None:
    """For each entry of n a whole number below it, from one stream."""
    at, block = len(words), 0
    for t in range(len(out)):
        bound = np.uint64(n[t])
        unfair = (_ONE << _HALF) % bound
        while True:
            if at == len(words):
                fill_words(key, c1, c2, _ZERO, np.uint64(block), words)
                at, block = 0, block + len(words) // 4
            product = np.uint64(words[at]) * bound
            at += 1
            if product & _LOW >= unfair:
                break
        out[t] = np.int64(product >> _HALF)


@compiled
def draw_others(owned: UserItems, key: Words, c1: Word, c2: Word, words: Words, who: Ints, neg: Ints) -> None:
    """For each user of `who` one item on offer that is not hers, from one stream; all of them can compare."""
    start, item, listed = owned
    m = np.uint64(len(listed))
    unfair = (_ONE << _HALF) % m
    at, block = len(words), 0
    for t in range(len(who)):
        last = start[who[t] + 1]
        while True:
            if at == len(words):
                fill_words(key, c1, c2, _ZERO, np.uint64(block), words)
                at, block = 0, block + len(words) // 4
            product = np.uint64(words[at]) * m
            at += 1
            if product & _LOW < unfair:
                continue
            j = listed[np.int64(product >> _HALF)]
            low, high = start[who[t]], last
            while low < high:  # the first of her items that is not below j
                middle = (low + high) >> 1
                if item[middle] < j:
                    low = middle + 1
                else:
                    high = middle
            if low == last or item[low] != j:
                break
        neg[t] = j
