"""What the test part says about each evaluated user, in the form the metrics read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, RowIndex
from murmura.core.split import Split


def discounts(k: int) -> Floats:
    """1 / log2(i + 1) for the places i = 1..k."""
    return 1.0 / np.log2(np.arange(2, k + 2, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Relevance:
    """The evaluated users (any test row) and the relevant test items of each (value >= threshold).

    Build it once with `of` and pass it to `measure` to score many lists against the same test part.
    """

    train: Interactions
    users: Ints  # (users,) codes, ascending
    start: Longs  # (users + 1,) of the entries
    item: Ints  # (entries,) ascending within a user
    value: Floats  # (entries,)
    threshold: float  # the value from which an item is relevant; at most every value where all count

    @staticmethod
    def of(split: Split, relevant_from: float | None = None) -> Relevance:
        """Read the test part; without `relevant_from` every test row is relevant."""
        rows, value = _distinct(split.test.by_user)
        owner = np.repeat(np.arange(split.test.n_users), np.diff(rows.start))
        users = np.flatnonzero(np.diff(rows.start))
        if not len(users):
            raise DataError("an evaluation needs at least one test row, but the test part is empty.")
        if relevant_from is None:
            keep = np.ones(len(owner), np.bool_)
            # gains start from 0, as WarpRec's, or lower where values are negative: all are positive
            relevant_from = min(0.0, float(value.min()))
        else:
            keep = value >= relevant_from
        if not keep.any():
            raise DataError(
                f"at least one test row must be relevant, but none has a value of {relevant_from:g} or more; "
                "lower relevant_from."
            )
        size = np.bincount(owner[keep], minlength=split.test.n_users)[users]
        start = np.concatenate(([0], np.cumsum(size)))
        return Relevance(
            split.train, users.astype(np.int32), start, rows.index[keep], value[keep], float(relevant_from)
        )

    @property
    def n_items(self) -> int:
        """The size of the whole catalogue."""
        return self.train.n_items

    @cached_property
    def size(self) -> Longs:
        """How many relevant items each user has."""
        return np.diff(self.start)

    @cached_property
    def defined(self) -> Bools:
        """The users with a relevant item: the ones accuracy is averaged over."""
        return self.size > 0

    @cached_property
    def gain(self) -> Floats:
        """2^(r - threshold + 1) - 1 of each entry, divided by the user's largest power of two.

        The division changes no ratio of two gains of one user, and keeps counts of thousands finite.
        """
        exponent = self.value - self.threshold + 1
        top = np.zeros(len(self.users))
        top[self.defined] = np.maximum.reduceat(exponent, self.start[:-1][self.defined])
        largest = np.repeat(top, self.size)
        return np.exp2(exponent - largest) - np.exp2(-largest)

    def ideal(self, k: int) -> Floats:
        """The best binary DCG at k each user allows; 1 where she has no relevant item."""
        reachable = np.concatenate(([1.0], np.cumsum(discounts(k))))
        return reachable[np.minimum(self.size, k)]

    def graded_ideal(self, k: int) -> Floats:
        """The best graded DCG at k each user allows; 1 where she has no relevant item."""
        owner, gain = self._best_first
        rank = np.arange(len(gain)) - self.start[owner]
        inside = rank < k
        best = np.bincount(owner[inside], gain[inside] * discounts(k)[rank[inside]], minlength=len(self.users))
        return np.where(self.defined, best, 1.0)

    @cached_property
    def _best_first(self) -> tuple[Longs, Floats]:
        owner = np.repeat(np.arange(len(self.users)), self.size)
        order = np.lexsort((-self.gain, owner))
        return owner, self.gain[order]


def _distinct(rows: RowIndex) -> tuple[RowIndex, Floats]:
    """One entry per (user, item), with the largest of its values: who liked an item once likes it."""
    owner = np.repeat(np.arange(len(rows.start) - 1), np.diff(rows.start))
    first = np.ones(len(rows.index), np.bool_)
    first[1:] = (rows.index[1:] != rows.index[:-1]) | (owner[1:] != owner[:-1])
    if first.all():
        return rows, rows.value
    value = np.maximum.reduceat(rows.value, np.flatnonzero(first))
    start = np.concatenate(([0], np.cumsum(np.bincount(owner[first], minlength=len(rows.start) - 1))))
    return RowIndex(start, rows.index[first], value, rows.order[first]), value
