"""Items drawn for each user among those she does not have: the candidates of a sampled evaluation."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Ints, Longs
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.random.philox import Words, draw_below

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
