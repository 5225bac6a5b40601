"""Full ranking of the items a user has not seen, block by block, and which of them are relevant.

No users x items matrix is made, and no item is searched for. Last, the items that are drawn for each user as
the candidates of a sampled evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.interactions import RowIndex
from murmura.core.model import NO_ITEM, RankedLists
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.philox import Words, draw_below

Block = NDArray[Any]  # (users of the block, items) float32 or float64
BLOCK = 256  # users scored at once: 256 x 4,000 float32 stays in the cache
CELLS = 1 << 23  # scores held at once: a large catalogue gets smaller blocks


@compiled
def select_top(
    scores: Block, users: Ints, start: Longs, seen: Ints, allowed: Bools, items: Ints, best: Block
) -> None:
    """Write each row's k best allowed, unseen items to `items` and `best`; ties go to the lower item code.

    `scores` is overwritten: what has been seen becomes -inf. `best` has the precision of `scores`, so that two
    scores tie only when they are equal.
    """
    k = items.shape[1]
    for row in range(scores.shape[0]):
        line = scores[row]
        user = users[row]
        for place in range(start[user], start[user + 1]):
            line[seen[place]] = -np.inf
        filled = 0
        floor = line.dtype.type(-np.inf)
        for item in range(line.shape[0]):
            score = line[item]
            if score > floor and allowed[item]:
                place = filled if filled < k else k - 1
                while place > 0 and best[row, place - 1] < score:
                    best[row, place] = best[row, place - 1]
                    items[row, place] = items[row, place - 1]
                    place -= 1
                best[row, place] = score
                items[row, place] = item
                if filled < k:
                    filled += 1
                if filled == k:
                    floor = best[row, k - 1]


def rank(
    score: Callable[[Ints], Block],
    users: Ints,
    k: int,
    seen: RowIndex,
    allowed: Bools,
    workers: int = 1,
) -> RankedLists:
    """The top k of every user in `users`: `score` answers a block of users, BLAS on one thread per worker."""
    users = np.ascontiguousarray(users, np.int32)
    size = _block_size(len(allowed))
    items = np.full((len(users), k), NO_ITEM, np.int32)
    best = np.full((len(users), k), -np.inf, np.float32)

    def one_block(first: int) -> None:
        block = slice(first, first + size)
        scores = np.require(score(users[block]), requirements=["C", "W"])
        top = np.full((len(scores), k), -np.inf, scores.dtype)
        select_top(scores, users[block], seen.start, seen.index, allowed, items[block], top)
        best[block] = top

    with threadpool_limits(1, "blas"):
        starts = range(0, len(users), size)
        if workers == 1:
            for first in starts:
                one_block(first)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(one_block, starts))
    return RankedLists(users, items, best)


def score_blocks(score: Callable[[Ints], Block], users: Ints, n_items: int) -> Iterator[tuple[slice, Block]]:
    """The scores of all items block by block, with the places of the block's users; BLAS on one thread."""
    size = _block_size(n_items)
    with threadpool_limits(1, "blas"):
        for first in range(0, len(users), size):
            yield slice(first, first + size), score(users[first : first + size])


def _block_size(n_items: int) -> int:
    return max(1, min(BLOCK, CELLS // max(1, n_items)))


@compiled
def find_hits(item: Ints, start: Longs, relevant: Ints, n_items: int, entry: Ints) -> int:
    """Write to `entry` where in `relevant` each recommended item stands, and -1 where it is not relevant.

    Row r of `item` is the list of the user whose relevant items are `relevant[start[r]:start[r + 1]]`. The
    answer is the first row that shows an item twice, or -1 where none does.
    """
    where = np.full(n_items, -1, np.int32)  # an item's latest entry; older than start[row] = another user's
    shown = np.full(n_items, -1, np.int32)  # the latest row that showed the item
    for row in range(item.shape[0]):
        first = start[row]
        for place in range(first, start[row + 1]):
            where[relevant[place]] = place
        for column in range(item.shape[1]):
            code = item[row, column]
            entry[row, column] = -1
            if code < 0:
                continue
            if shown[code] == row:
                return row
            shown[code] = row
            if where[code] >= first:
                entry[row, column] = where[code]
    return -1


_ZERO = np.uint64(0)
_CANDIDATES = np.uint64(Purpose.CANDIDATES)


@compiled
def draw_unmet(users: Ints, start: Longs, item: Ints, n_items: int, keys: Words, draw: int, out: Ints) -> None:
    """Write different items that each of `users` does not have to her row of `out`: (users, m).

    Hers are `item[start[u]:start[u + 1]]`, ascending. The m numbers are those `Stream.choose` gives of her own
    stream in the round `draw`, as they are drawn; number p is the p-th of the items she does not have.
    """
    m = out.shape[1]
    taken = np.zeros(n_items, np.bool_)
    below = np.empty(n_items, np.int64)  # of each of her items, how many she does not have are below it
    for row in range(len(users)):
        u, own, last = users[row], 0, -1
        for place in range(start[u], start[u + 1]):
            if item[place] != last:
                last = item[place]
                below[own] = last - own
                own += 1
        word = _ZERO
        for k in range(m):
            top = n_items - own - m + k
            drawn, word = draw_below(keys[u], np.uint64(draw), _CANDIDATES, _ZERO, word, np.uint64(top + 1))
            chosen = top if taken[np.int64(drawn)] else np.int64(drawn)
            taken[chosen] = True
            out[row, k] = chosen
        for k in range(m):
            taken[out[row, k]] = False
            low, high = 0, own
            while low < high:  # how many of her items come before it
                middle = (low + high) >> 1
                if below[middle] <= out[row, k]:
                    low = middle + 1
                else:
                    high = middle
            out[row, k] += low
