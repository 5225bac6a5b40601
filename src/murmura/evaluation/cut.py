"""The evaluated users' lists cut at k, beside what is relevant: all that a metric may look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.catalogue import Relation
from murmura.core.errors import DataError
from murmura.core.ranked_lists import NO_ITEM, RankedLists
from murmura.evaluation.relevance import Relevance

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
        return np.bincount(self.shown, minlength=self.truth.n_items)

    def mean(self, per_user: Floats) -> float:
        """The average over the users with a relevant item."""
        return float(per_user[self.truth.defined].mean())


def cut_at(lists: RankedLists, truth: Relevance, k: int) -> TopKView:
    """Bring the lists into the order of the evaluated users and look each item up."""
    from murmura.kernels.ranking import find_hits

    item = _aligned(lists, truth, k)
    entry = np.empty_like(item)
    repeated = find_hits(item, truth.start, truth.item, truth.n_items, entry)
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
    if item.size and item.max() >= truth.n_items:
        raise DataError(
            f"lists must name items of the catalogue by codes below {truth.n_items}, but one is {item.max()}."
        )
    mine = row[truth.users]
    aligned = item[mine] if len(item) else np.full((len(mine), k), NO_ITEM, np.int32)
    aligned[mine < 0] = NO_ITEM
    return aligned
