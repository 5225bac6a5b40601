"""The device half of a channel, compiled: clips, fixed point and the sum in whole numbers.

The reference implementation is `channel.chain`; given the same numbers the words are the same, as the same
operations happen in the same order. Sums of whole numbers have no order, so workers change no bit.
"""

from __future__ import annotations

from math import floor, sqrt, trunc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints, Longs
from murmura.core.kernel import VectorSlice
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.philox import Word, Words, block

_ROUNDING, _ZERO = np.uint64(Purpose.ROUNDING), np.uint64(0)


@compiled
def shrinkage(order: Longs, items: Ints, values: NDArray[Any], vector_slice: VectorSlice) -> float:
    """What a client's rows are multiplied with so that their L2 norm is at most the clip."""
    squares = 0.0
    for r in order:
        if vector_slice.place[items[r]] >= 0:
            for f in range(values.shape[1]):
                x = np.float64(values[r, f])
                squares += x * x
    norm = sqrt(squares)
    return vector_slice.clip / norm if norm > vector_slice.clip else 1.0


@compiled(inline=True)
def fixed(x: float, largest: float, step: float, word: Word) -> np.int64:
    """A number within its bound as a multiple of the step, rounded up or down by a word."""
    kept = min(max(x, -largest), largest)
    return np.int64(floor(kept / step + np.float64(word) * 2.0**-32))


@compiled
def add_fixed_point_rows(
    order: Longs,
    items: Ints,
    values: NDArray[Any],
    vector_slice: VectorSlice,
    key: Words,
    round_: Word,
    total: Longs,
) -> None:
    """Add one client's rows to the total: row r is of item items[r]; `order` sorts them by item."""
    shrink = shrinkage(order, items, values, vector_slice)
    if vector_slice.longest < np.inf:
        length = _round_rows(order, items, values, vector_slice, shrink, key, round_, total, False)
        if length > vector_slice.longest:
            return _add_truncated_rows(order, items, values, vector_slice, shrink, total)
    _round_rows(order, items, values, vector_slice, shrink, key, round_, total, True)


@compiled
def _round_rows(
    order: Longs,
    items: Ints,
    values: NDArray[Any],
    vector_slice: VectorSlice,
    shrink: float,
    key: Words,
    round_: Word,
    total: Longs,
    add: bool,
) -> float:
    """The L2 norm of a client's rows once they are rounded; adds them to the total if that is wanted."""
    k0, k1, c1 = np.uint64(key[0]), np.uint64(key[1]), np.uint64(round_)
    known, squares = np.int64(-1), 0.0
    w0, w1, w2, w3 = _ZERO, _ZERO, _ZERO, _ZERO
    for r in order:
        first = vector_slice.place[items[r]]
        if first < 0:
            continue
        for f in range(values.shape[1]):
            x = np.float64(values[r, f]) * shrink
            place = first + f
            if x == 0.0:
                continue
            if place >> 2 != known:
                known = place >> 2
                w0, w1, w2, w3 = block(np.uint64(known), c1, _ROUNDING, _ZERO, k0, k1)
            low = place & 3
            word = (w0 if low == 0 else w1) if low < 2 else (w2 if low == 2 else w3)
            rounded = fixed(x, vector_slice.largest, vector_slice.step, word)
            if add:
                total[place] += rounded
            else:
                squares += (np.float64(rounded) * vector_slice.step) * (np.float64(rounded) * vector_slice.step)
    return sqrt(squares)


@compiled
def _add_truncated_rows(
    order: Longs, items: Ints, values: NDArray[Any], vector_slice: VectorSlice, shrink: float, total: Longs
) -> None:
    """Add one client's rows, each number rounded towards zero."""
    for r in order:
        first = vector_slice.place[items[r]]
        if first >= 0:
            for f in range(values.shape[1]):
                x = np.float64(values[r, f]) * shrink
                kept = min(max(x, -vector_slice.largest), vector_slice.largest)
                total[first + f] += np.int64(trunc(kept / vector_slice.step))
