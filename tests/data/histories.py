"""Small random histories for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from murmura.core.interactions import Interactions

Row = tuple[int, int, float, int]  # user, item, value, time


def histories(pairs_once: bool = True) -> st.SearchStrategy[list[Row]]:
    """Rows in any order, with many equal times; a pair occurs once unless it may repeat."""
    row = st.tuples(
        st.integers(-2, 5), st.integers(0, 12), st.sampled_from([1.0, 2.5, 4.0, 5.0]), st.integers(0, 6)
    )
    unique = (lambda r: r[:2]) if pairs_once else None
    return st.lists(row, min_size=1, max_size=60, unique_by=unique)


def interactions(rows: list[Row]) -> Interactions:
    """The rows as interactions over their own ids."""
    user, item, value, time = (np.array(column) for column in zip(*rows))
    return Interactions.of(user, item, value.astype(np.float64), time.astype(np.int64))


def rows_of(data: Interactions) -> list[Row]:
    """The opposite of `interactions`."""
    time = np.zeros(len(data), np.int64) if data.time is None else data.time
    users, items = data.users.labels[data.user].tolist(), data.items.labels[data.item].tolist()
    return list(zip(users, items, data.value.tolist(), time.tolist()))
