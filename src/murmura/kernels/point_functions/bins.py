"""Which bins an item may stand in, and in which of them it does.

In each of three groups all items stand in an order of their own, a public permutation, and `width` of them one
after the other are a bin. A permutation of at most 2^b numbers is one of b bits, taken again until its result
is small enough. So a device works out the places of its own items alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from murmura.core.arrays import Longs
from murmura.core.errors import DataError
from murmura.kernels.compiled import compiled
from murmura.kernels.point_functions.sizes import GROUPS, Bins
from murmura.kernels.proofs.field import Elements, add

# the fractional parts of square roots of primes, as SHA-256 and SHA-384 begin with; factors are odd
_ADDED = np.array([0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A], np.uint64)
_FACTORS = np.array([0xCBBB9D5D, 0x629A292B, 0x9159015B, 0x152FECD9], np.uint64)
MOST_ITEMS = 2**31


@compiled
def place_of(item: int, group: int, items: int) -> int:
    """Where an item stands in the order of a group."""
    bits = np.uint64(1)
    while np.uint64(items) > np.uint64(1) << bits:
        bits += np.uint64(1)
    mask, half, x = (
        (np.uint64(1) << bits) - np.uint64(1),
        (bits + np.uint64(1)) // np.uint64(2),
        np.uint64(item),
    )
    while True:
        for turn in range(len(_FACTORS)):
            x = (x + _ADDED[turn] * np.uint64(2 * group + 1)) * _FACTORS[turn] & mask
            x ^= x >> half
        if x < np.uint64(items):
            return int(x)


@lru_cache(maxsize=4)
def place_table(bins: Bins) -> Longs:
    """(items, 3) where each item stands among the places of all bins."""
    return _place_table(bins.items, bins.group * bins.width)


@compiled
def _place_table(items: int, group_places: int) -> Longs:
    table = np.empty((items, GROUPS), np.int64)
    for item in range(items):
        for group in range(GROUPS):
            table[item, group] = group * group_places + place_of(item, group, items)
    return table


@compiled
def gathered(values: Elements, table: Longs) -> Elements:
    """(items, numbers) of (places, numbers): the sum over the places of each item."""
    found = np.empty((len(table), values.shape[1]), np.uint64)
    for item in range(len(table)):
        first, second, third = table[item, 0], table[item, 1], table[item, 2]
        for c in range(values.shape[1]):
            found[item, c] = add(add(values[first, c], values[second, c]), values[third, c])
    return found


def assigned(bins: Bins, items: Sequence[int]) -> dict[int, tuple[int, int]]:
    """bin -> (which of these items, its position there); an item that finds no bin is left out.

    A largest matching by shortest augmenting paths, taken in the order given: nothing is drawn.
    """
    if bins.items > MOST_ITEMS:
        raise DataError(f"sparse sums must be of at most {MOST_ITEMS} items, but there are {bins.items}.")
    places = [
        [(g * bins.group + at // bins.width, at % bins.width) for g in range(GROUPS)
         for at in [int(place_of(item, g, bins.items))]]
        for item in items
    ]  # fmt: skip
    held: dict[int, int] = {}
    for first in range(len(items)):
        came, queue = dict[int, int](), [first]  # bin -> the item that wants it
        for one in queue:
            free = [bin for bin, _ in places[one] if bin not in came]
            came |= dict.fromkeys(free, one)
            end = next((bin for bin in free if bin not in held), None)
            if end is None:
                queue += [held[bin] for bin in free]
                continue
            while end is not None:  # each item on the way moves to the bin that it wants
                mover = came[end]
                left = next((bin for bin, holder in held.items() if holder == mover), None)
                held[end] = mover
                end = left
            break
    return {bin: (one, dict(places[one])[bin]) for bin, one in held.items()}
