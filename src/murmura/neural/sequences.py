"""What people had, in the order they had it: what networks of sequences learn from and answer by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Longs
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Rng
from murmura.neural.histories import Histories, first_of_pairs


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
