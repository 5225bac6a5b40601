"""What the networks learn from: which trained items each user has, each once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.interactions import Interactions


class Histories(NamedTuple):
    """Row u holds `column[start[u]:start[u + 1]]`, ascending places in `item`, the items of training.

    An item that nobody has met in training has no column: no network has a parameter for it.
    """

    item: Ints  # (columns,) the item's code in the catalogue
    start: Longs  # (users + 1,)
    column: Longs  # (entries,)

    @staticmethod
    def of(train: Interactions) -> Histories:
        """From training rows; a pair that occurs in several rows counts once."""
        rows, trained = train.by_user, train.item_counts > 0
        user = np.repeat(np.arange(train.n_users), np.diff(rows.start))
        first = first_of_pairs(train)
        start = np.zeros(train.n_users + 1, np.int64)
        np.cumsum(np.bincount(user[first], minlength=train.n_users), out=start[1:])
        place = np.cumsum(trained) - 1
        return Histories(np.flatnonzero(trained).astype(np.int32), start, place[rows.index[first]])

    @property
    def n_users(self) -> int:
        """How many users there are, with or without items."""
        return len(self.start) - 1

    @property
    def lengths(self) -> Longs:
        """How many items each user has."""
        return np.diff(self.start)


def first_of_pairs(train: Interactions) -> Bools:
    """Which of `train.by_user`'s entries is the first of its user and item."""
    rows = train.by_user
    user = np.repeat(np.arange(train.n_users), np.diff(rows.start))
    first = np.ones(len(user), np.bool_)
    first[1:] = (user[1:] != user[:-1]) | (rows.index[1:] != rows.index[:-1])
    return first
