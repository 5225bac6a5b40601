"""Which recommended items are relevant: one pass over the lists, without a search per item."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Ints, Longs
from murmura.kernels.compiled import compiled


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
