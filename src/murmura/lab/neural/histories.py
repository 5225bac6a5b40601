"""What the networks learn from: which trained items each user has, each once, and in which order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Rng


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


class Sequences(NamedTuple):
    """The histories, each entry with the last time its user had the item."""

    histories: Histories
    time: Longs  # (entries,)

    @staticmethod
    def of(train: Interactions) -> Sequences:
        """From training rows with times."""
        assert train.time is not None
        first = np.flatnonzero(first_of_pairs(train))
        time = train.time[train.by_user.order]
        last = np.maximum.reduceat(time, first) if len(first) else time
        return Sequences(Histories.of(train), last)

    def ordered(self, rng: Rng) -> Longs:
        """(entries,) each user's items as they came; items of one time in an order drawn for user and item.

        Neither the order of the rows nor the items' numbers tell which of them came first.
        """
        user = np.repeat(np.arange(self.histories.n_users), self.histories.lengths)
        drawn = shuffle_keys(rng, user * len(self.histories.item) + self.histories.column)
        return self.histories.column[np.lexsort((drawn, self.time, user))]


class Windows(NamedTuple):
    """A stretch of each of some sequences, one per row, padded at its end."""

    column: Longs  # (rows, width)
    size: Longs  # (rows,) at least 1


def shuffle_keys(rng: Rng, places: Longs) -> Longs:
    """A word for each place: sorting by it shuffles, and depends on nothing but the place."""
    return rng.stream(Purpose.CHOICE).words_at(places).astype(np.int64)


def windows(column: Longs, begin: Longs, end: Longs) -> Windows:
    """`column[begin:end]` of every row; an empty stretch counts as one of column 0."""
    size = np.maximum(end - begin, 1)
    step = np.arange(int(size.max(initial=1)))
    inside = step < (end - begin)[:, None]
    place = np.where(inside, begin[:, None] + step, 0)
    return Windows(np.where(inside, column[place], 0), size)
