"""The models of `algorithms.cooccurrence` from pooled data, where all rows are in one place.

Twins of fed-ease, fed-item-knn and fed-order: the same sums without a channel, the same weights, the same
recency. At pi = 1 the federated lists equal these, place by place, wherever the sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.algorithms.cooccurrence.item_model import (
    PairModel,
    PairModelSettings,
    item_scale,
    pair_weights,
)
from murmura.algorithms.cooccurrence.next_items import basis, next_items, predictor, sketch_rows
from murmura.baselines.base import RankingModel
from murmura.baselines.information import InformedBaseline, Share
from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.interactions import Interactions, latest_each
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.settings import settings
from murmura.kernels.sparse import Sparse, gram


@dataclass(frozen=True, eq=False)
class PooledModel(RankingModel):
    """The public model of a federation that never was."""

    tables: Arrays
    method: Pooled

    def score(self, users: Ints) -> Singles:
        """The scores of a block of users."""
        rows, ranks = self.train.by_user, PairModel.of(self.method, self.tables)
        time = None if self.train.time is None else self.train.time[rows.order]
        scores = np.empty((len(users), self.train.n_items), np.float32)
        for at, user in enumerate(users.tolist()):
            own = slice(rows.start[user], rows.start[user + 1])
            keep = self.method.takes(rows.value[own])
            scores[at] = ranks.scores(rows.index[own][keep], None if time is None else time[own][keep])
        return scores

    def score_history(self, items: Ints) -> Singles:
        """The scores for someone unknown, all of whose items are alike."""
        return PairModel.of(self.method, self.tables).scores(np.unique(items).astype(np.int32), None)

    def score_timed_history(self, items: Ints, time: Longs) -> Singles:
        """The scores for someone unknown; her newest items count most, where recency says so."""
        own, when = latest_each(items, time)
        return PairModel.of(self.method, self.tables).scores(own.astype(np.int32), when)

    def arrays(self) -> Arrays:
        """The tables."""
        return self.tables

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the tables."""
        return cls(train, arrays, method)


@settings
class Pooled(PairModelSettings, InformedBaseline):
    """Counts, pairs and what comes next, from all rows at once."""

    model = PooledModel
    seeded = False

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse tables that would not fit as well."""
        super().check(train, seed)
        counts = np.bincount(train.item[self.takes(train.value)], minlength=train.n_items)
        self.refuse_too_large(len(self.weighed(counts)))

    def learn(self, train: Interactions, seed: int, progress: Progress) -> PooledModel:
        """Sum up, then solve."""
        used = self.used(train)
        counts = np.asarray(used.item_counts, np.int64)
        items = self.weighed(counts)
        tables: Arrays = {"counts": counts.astype(np.uint32)[:, None]}
        if (self.ease or self.knn) and len(items) > 1:
            features = train.features if self.features else None
            paired = used.rows(counts[used.item] >= self.least)
            weight = np.maximum(used.user_counts, 1.0) ** -self.person_weight
            own = np.bincount(used.item, weight[used.user], minlength=used.n_items)
            tables |= pair_weights(self, _together(paired, items, weight), counts, features, own[items])
        if self.order:
            tables |= self._ordered(used, item_scale(counts, self.least))
        return PooledModel(train, tables, self)

    def _ordered(self, used: Interactions, scale: Floats) -> Arrays:
        assert used.time is not None
        rows, time = used.by_user, used.time[used.by_user.order]
        Y, C = np.zeros((used.n_items, self.rank)), np.zeros((used.n_items, self.rank + 1))
        A, people = np.zeros((self.rank + 1, self.rank + 1)), []
        for user in range(used.n_users):
            own = slice(rows.start[user], rows.start[user + 1])
            keep = scale[rows.index[own]] > 0
            people.append((rows.index[own][keep], time[own][keep]))
            Y[people[-1][0]] += sketch_rows(people[-1][0], scale, self.rank)
        with threadpool_limits(1, "blas"):
            V = basis(Y)
            for items, when in people:
                found = next_items(items, when, scale, V, self.decay)
                A += found.gram
                C[found.items] += found.rows
            return {"basis": V, "predictor": predictor(A, C, self.ridge)}


def _together(used: Interactions, items: Ints, weight: Floats) -> Floats:
    """(n, n) how often two items occur together, each time with the person's weight, zero on the diagonal."""
    place = np.full(used.n_items, -1, np.int32)
    place[items] = np.arange(len(items))
    there = place[used.item] >= 0
    value = np.sqrt(weight[used.user[there]])
    by_user = Sparse.of_users(used.user[there], place[used.item[there]], value, used.n_users)
    G = gram(by_user.transpose(len(items)), by_user)
    np.fill_diagonal(G, 0)
    return G


@settings
class PooledEase(Pooled):
    """The centralised twin of fed-ease."""

    name = "pooled-ease"
    ease: Share = 1.0


@settings
class PooledItemKnn(Pooled):
    """The centralised twin of fed-item-knn."""

    name = "pooled-item-knn"
    knn: Share = 1.0


@settings
class PooledOrder(Pooled):
    """The centralised twin of fed-order."""

    name = "pooled-order"
    order: Share = 1.0
