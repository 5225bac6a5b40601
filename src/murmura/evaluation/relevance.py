"""What a metric may look at: the evaluated users' relevant test items, and their lists cut at k."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.catalogue import Relation, Split
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, RowIndex
from murmura.core.model import NO_ITEM, RankedLists


def discounts(k: int) -> Floats:
    """1 / log2(i + 1) for the places i = 1..k."""
    return 1.0 / np.log2(np.arange(2, k + 2, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Relevance:
    """The evaluated users (any test row) and the relevant test items of each (value >= threshold).

    Build it once with `of` and pass it to `evaluate` to score many lists against the same test part.
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


GiniCatalogue = Literal["all", "train"]


@dataclass(frozen=True, eq=False)
class TopKView:
    """One row per evaluated user; a user without a list has a row of NO_ITEM."""

    truth: Relevance
    item: Ints  # (users, k) NO_ITEM where the list is shorter
    entry: Ints  # (users, k) the entry of the truth each item is; -1 = not relevant
    gini_catalogue: GiniCatalogue = "all"
    categories: Relation | None = None

    @property
    def k(self) -> int:
        """The cut-off."""
        return int(self.item.shape[1])

    def at(self, k: int) -> TopKView:
        """The same lists, cut shorter."""
        return TopKView(self.truth, self.item[:, :k], self.entry[:, :k], self.gini_catalogue, self.categories)

    @cached_property
    def hit(self) -> Floats:
        """1 where the item is relevant, 0 elsewhere: (users, k)."""
        return (self.entry >= 0).astype(np.float64)

    @cached_property
    def hits(self) -> Floats:
        """How many relevant items each user is shown."""
        return self.hit @ np.ones(self.k)

    @cached_property
    def shown(self) -> Ints:
        """The items of all lists in one row, users' order, padding left out."""
        return self.item[self.item >= 0]

    @cached_property
    def times(self) -> Longs:
        """How often each item of the catalogue is shown."""
        return np.bincount(self.shown, minlength=self.truth.train.n_items)

    def mean(self, per_user: Floats) -> float:
        """The average over the users with a relevant item."""
        return float(per_user[self.truth.defined].mean())


def cut_at(lists: RankedLists, truth: Relevance, k: int) -> TopKView:
    """Bring the lists into the order of the evaluated users and look each item up."""
    from murmura.kernels.ranking import find_hits

    item = _aligned(lists, truth, k)
    entry = np.empty_like(item)
    repeated = find_hits(item, truth.start, truth.item, truth.train.n_items, entry)
    if repeated >= 0:
        who = truth.train.users.labels[truth.users[repeated]]
        raise DataError(f"a list must not show an item twice, but the list of user {who} does.")
    return TopKView(truth, item, entry)


def _aligned(lists: RankedLists, truth: Relevance, k: int) -> Ints:
    """The first k items of each evaluated user; lists of other users are left out."""
    n_users = truth.train.n_users
    known: Bools = (lists.user >= 0) & (lists.user < n_users)
    codes = lists.user[known]
    row = np.full(n_users, -1, np.int64)
    row[codes] = np.flatnonzero(known)
    if np.count_nonzero(row >= 0) != len(codes):
        raise DataError("lists must have one row per user, but some user has several; keep one of them.")
    item = np.ascontiguousarray(lists.item[:, :k], np.int32)
    if item.size and item.max() >= truth.train.n_items:
        raise DataError(
            f"lists must name items of the catalogue by codes below {truth.train.n_items}, but one is "
            f"{item.max()}."
        )
    mine = row[truth.users]
    aligned = item[mine] if len(item) else np.full((len(mine), k), NO_ITEM, np.int32)
    aligned[mine < 0] = NO_ITEM
    return aligned
