"""Paudel, Christoffel, Newell, Bernstein: Updatable, accurate, diverse, scalable recommendations (TiiS 2017).

RP3beta walks from an item to its people and on to their items: W_ij = Σ_u x_ui x_uj / (c_i n_u)^a / c_j^b, n
how many items a person has and c how many people an item. Here each of the three has a power of its own.
Of every row the k largest are kept. `fed-neighbours` takes the same from sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from murmura.baselines.base import Baseline, RankingModel, popularity
from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.settings import Count, NonNegative, settings
from murmura.kernels.sparse import Sparse, product_rows

BLOCK = 256  # items whose rows are made at once


def walk_rows(
    train: Interactions, people: Floats, powers: tuple[float, float], k: int, least_users: int = 1
) -> Sparse:
    """Row i has the k largest Σ_u people_u x_ui x_uj / (c_i^a c_j^b) of pairs of at least so many people."""
    from scipy.sparse import csr_matrix

    rows, n = train.by_user, train.n_items
    X = csr_matrix((np.ones(len(rows.index)), rows.index, rows.start), shape=(train.n_users, n))
    by_item, weighed = X.T.tocsr(), X.multiply(people[:, None]).tocsr()
    often = np.maximum(train.item_counts, 1).astype(np.float64)
    k, starts, columns, values = min(k, n - 1), [0], list[Any](), list[Any]()
    for first in range(0, n, BLOCK):
        here = np.arange(first, min(first + BLOCK, n))
        W = (by_item[here] @ weighed).toarray()
        if least_users > 1:
            W[(by_item[here] @ X).toarray() < least_users] = 0.0
        W /= often[here, None] ** powers[0] * often ** powers[1]
        W[here - first, here] = 0.0
        best = np.argpartition(-W, k - 1, axis=1)[:, :k]
        best.sort(axis=1)
        value = np.take_along_axis(W, best, 1)
        columns.append(best[value > 0])
        values.append(value[value > 0])
        starts += (starts[-1] + np.cumsum((value > 0).sum(axis=1))).tolist()
    return Sparse.of(np.array(starts), np.concatenate(columns), np.concatenate(values))


@dataclass(frozen=True, eq=False)
class WalkModel(RankingModel):
    """Votes by source: row j holds its neighbours."""

    votes: Sparse  # (items, items)

    def score(self, users: Ints) -> Singles:
        """The sum of the rows of each user's items."""
        history = Sparse.of_rows(self.train.by_user, True)
        return product_rows(users, history, self.votes, self.train.n_items)

    def score_history(self, items: Ints) -> Singles:
        """The same for someone new; popularity without items."""
        own = np.unique(items)
        if not len(own):
            return popularity(self.train)
        history = Sparse.of(np.array([0, len(own)]), own, np.ones(len(own)))
        scores: Singles = product_rows(np.zeros(1, np.int32), history, self.votes, self.train.n_items)[0]
        return scores

    def arrays(self) -> Arrays:
        """The votes."""
        start, column, value = self.votes
        return {"start": start, "column": column, "value": value}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the votes."""
        return cls(train, Sparse.of(arrays["start"], arrays["column"], arrays["value"]))


@settings
class Rp3Beta(Baseline):
    """Walks over three edges, each with a power of its own."""

    name = "rp3beta"
    model = WalkModel
    seeded = False

    k: Count = 200  # neighbours of an item
    user_power: NonNegative = 1.0  # of n, how many items a person has
    own_power: NonNegative = 0.6  # of the count of the item that she has
    other_power: NonNegative = 0.4  # of the count of its neighbour
    least_pairs: Count = 1  # pairs of fewer people say nothing

    def learn(self, train: Interactions, seed: int, progress: Progress) -> WalkModel:
        """All rows, from all pairs."""
        people = np.maximum(train.user_counts, 1) ** -self.user_power
        votes = walk_rows(train, people, (self.own_power, self.other_power), self.k, self.least_pairs)
        return WalkModel(train, votes)
