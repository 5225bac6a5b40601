"""Rows in order of several keys, and the place of a row in its user's history."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Longs
from murmura.core.interactions import Interactions

Key = NDArray[Any]  # (rows,) whole numbers


def order_by(*keys: Key) -> Longs:
    """The rows ordered by the first key, then by the second, ...; equal rows keep their order."""
    if not len(keys[0]):
        return np.zeros(0, np.int64)
    lows = [int(key.min()) for key in keys]
    spans = [int(key.max()) - low + 1 for key, low in zip(keys, lows)]
    room = 1
    for span in spans:
        room *= span
    if room >= 2**63:
        return np.lexsort(keys[::-1])
    one: Longs = np.zeros(len(keys[0]), np.int64)  # all keys in one number: ten times faster than lexsort
    for key, low, span in zip(keys, lows, spans):
        one = one * span + (key - low)
    return np.argsort(one, kind="stable")


def place_in_history(data: Interactions, *keys: Key) -> Longs:
    """The place of each row among its user's rows when these are ordered by `keys`; 0 comes first."""
    order = order_by(data.user, *keys)
    starts = np.concatenate(([0], np.cumsum(data.user_counts)))
    place: Longs = np.empty(len(data), np.int64)
    place[order] = np.arange(len(data)) - starts[data.user[order]]
    return place
