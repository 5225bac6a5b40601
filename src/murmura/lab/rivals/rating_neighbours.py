"""Ratings from neighbours, the votes divided by their weights (Ferrara's thesis, equations 2.2 and 2.3).

r_ui = sum of w_uv r_vi / sum of |w_uv| over the k users v most similar to u who rated i; likewise over items.
Resnick et al.: GroupLens (CSCW 1994), users; Sarwar, Karypis, Konstan and Riedl (WWW 2001), items. By default
what is averaged are not ratings but their distances from mu + b_u + b_i (Koren, KDD 2008, section 2.2);
`centre: none` is the printed equation. Where no neighbour speaks, mu + b_u + b_i answers in either case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from murmura.baselines.base import Baseline
from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import Count, NonNegative, settings
from murmura.kernels.similarity import Measure, similar_rows, with_row
from murmura.kernels.sparse import Sparse, product_rows
from murmura.lab.rivals.rating_models import Biases, RatingModel

ONE = np.zeros(1, np.int32)  # the row of someone new
BLOCK = 256  # users whose ratings of all items exist at a time
Sums = tuple[Singles, Singles]


@dataclass(frozen=True, eq=False)
class RatingNeighbourModel(RatingModel):
    """Who votes with which weight, and what they vote with."""

    votes: Sparse  # (users, users) or (items, items)
    biases: Biases
    method: RatingNeighbours

    @cached_property
    def ratings(self) -> Sparse:
        """What votes are about: ratings, or how far they are from the biases: (users, items)."""
        rows = self.train.by_user
        user = np.repeat(np.arange(self.train.n_users, dtype=np.int32), np.diff(rows.start))
        base = self.biases.at(user, rows.index) if self.method.centred else 0.0
        return Sparse.of(rows.start, rows.index, rows.value - base)

    @cached_property
    def known(self) -> Sparse:
        """1 for every rating: (users, items)."""
        return Sparse.of_rows(self.train.by_user, binary=True)

    def score(self, users: Ints) -> Floats:
        """The predicted ratings of all items."""
        return self.divided(*self.sums(users), self.biases.rows(users))

    def predict(self, users: Ints, items: Ints) -> Floats:
        """The rating of each pair of a known user and an item."""
        who, place = np.unique(users, return_inverse=True)
        found = np.empty(len(users))
        for first in range(0, len(who), BLOCK):
            asked = np.flatnonzero((place >= first) & (place < first + BLOCK))
            rows = self.score(who[first : first + BLOCK].astype(np.int32))
            found[asked] = rows[place[asked] - first, items[asked]]
        return found

    def divided(self, voted: Singles, weight: Singles, base: Floats) -> Floats:
        """Equations 2.2 and 2.3: votes divided by weights, the biases where there is neither."""
        has_votes = weight > 0
        mean = np.divide(voted, weight, out=np.zeros(voted.shape), where=has_votes)
        return base + mean if self.method.centred else np.where(has_votes, mean, base)

    def sums(self, users: Ints) -> Sums:
        """What neighbours vote, and the weights of those who do: (users, items) each."""
        voted, weight = (self.summed(users, self.votes, table) for table in (self.ratings, self.known))
        return voted, weight

    def summed(self, users: Ints, votes: Sparse, table: Sparse) -> Singles:
        """Over users v w_uv x_vi, over items j w_ij x_uj."""
        left, right = (votes, table) if self.method.by_user else (table, votes)
        return product_rows(users, left, right, self.train.n_items)

    def predict_history(self, items: Ints, values: Floats) -> Floats:
        """Someone unknown: her bias and, for users, her neighbours are found on the spot."""
        own = self.biases.newcomer(items, values)
        base = self.biases.mu + own + self.biases.items
        given = values - base[items] if self.method.centred else values
        if self.method.by_user:
            grown = with_row(Sparse.of_rows(self.train.by_user), items, values)
            votes = self.method.voters(grown, self.train.n_items, first=self.train.n_users)
            tables = self.ratings, self.known
        else:  # her own ratings vote
            votes, ends = self.votes, np.array([0, len(items)])
            tables = Sparse.of(ends, items, given), Sparse.of(ends, items, np.ones(len(items)))
        voted, weight = (self.summed(ONE, votes, table) for table in tables)
        return self.divided(voted[0], weight[0], base)

    def arrays(self) -> Arrays:
        """The votes and the biases."""
        (start, column, value), own = self.votes, self.biases
        votes: Arrays = {"start": start, "column": column, "value": value}
        return {**votes, "mu": np.array(own.mu), "users": own.users, "items": own.items}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the votes and the biases."""
        votes = Sparse.of(arrays["start"], arrays["column"], arrays["value"])
        return cls(train, votes, Biases(float(arrays["mu"]), arrays["users"], arrays["items"]), method)


@settings
class RatingNeighbours(Baseline):
    """The k most similar rows by what both have rated; similarities above 0 alone, ties to the lower id."""

    model = RatingNeighbourModel
    seeded = False
    by_user: ClassVar[bool]

    k: Count = 200  # neighbours that are averaged
    similarity: Measure = "pearson"  # how rows are compared, over what both have rated
    shrink: NonNegative = 10.0  # a similarity of n shared ratings counts n / (n + shrink)
    centre: Literal["none", "biases"] = "biases"  # what is averaged: ratings, or distances from the biases

    @property
    def centred(self) -> bool:
        """Whether distances from the biases are averaged."""
        return self.centre == "biases"

    def voters(self, rows: Sparse, n_columns: int, progress: Progress = SILENT, first: int = 0) -> Sparse:
        """The neighbours of every row from `first` on, with the weight of their votes."""
        return similar_rows(rows, n_columns, self.k, self.similarity, True, self.shrink, first, progress)

    def learn(self, train: Interactions, seed: int, progress: Progress) -> RatingNeighbourModel:
        """Find the neighbours."""
        if self.by_user:
            votes = self.voters(Sparse.of_rows(train.by_user), train.n_items, progress)
        else:  # turned round, as scoring walks from source to target
            votes = self.voters(Sparse.of_rows(train.by_item), train.n_users, progress).transpose(train.n_items)
        return RatingNeighbourModel(train, votes, Biases.of(train), self)


@settings
class UserKnnRatings(RatingNeighbours):
    """Equation 2.2: the k most similar users of every user tell their ratings."""

    name = "user-knn-ratings"
    by_user = True


@settings
class ItemKnnRatings(RatingNeighbours):
    """Equation 2.3: a user's own ratings of the k most similar items."""

    name = "item-knn-ratings"
    by_user = False
