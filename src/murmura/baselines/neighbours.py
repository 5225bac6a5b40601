"""User-kNN and Item-kNN: neighbours by the similarity of their rows, votes summed.

Resnick et al.: GroupLens (CSCW 1994), users; Sarwar, Karypis, Konstan and Riedl: Item-based collaborative
filtering (WWW 2001), items. The asymmetric cosine and the power ("locality") are from Aiolli: Efficient top-N
recommendation for very large scale binary rated datasets (RecSys 2013). Both default to the plain cosine.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from murmura.baselines.base import Baseline, RankingModel, popularity
from murmura.baselines.shared_models import OwnItemTerms
from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays, ScoreTerms
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import Count, Fraction, NonNegative, Positive, settings
from murmura.kernels.similarity import Measure, nearest_rows, similar_rows, with_row
from murmura.kernels.sparse import Sparse, product_rows

ONE = np.zeros(1, np.int32)  # the row of someone new


@dataclass(frozen=True, eq=False)
class NeighbourModel(RankingModel):
    """A sparse table of votes, and the histories it meets."""

    history: Sparse  # (users, items) x_ui
    votes: Sparse  # (users, users) or (items, items)
    method: Neighbours

    def arrays(self) -> Arrays:
        """The votes, and x."""
        start, column, value = self.votes
        return {"start": start, "column": column, "value": value, "history": self.history.value}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the votes."""
        history = Sparse.of(train.by_user.start, train.by_user.index, arrays["history"])
        return cls(train, history, Sparse.of(arrays["start"], arrays["column"], arrays["value"]), method)


class NeighbourMethod(Baseline):
    """Neighbours vote: the users most similar to a user, or the items most similar to an item."""

    seeded = False
    by_user: ClassVar[bool]

    @abstractmethod
    def voters(self, rows: Sparse, n_columns: int, progress: Progress = SILENT, first: int = 0) -> Sparse:
        """The neighbours of every row from `first` on, with the weight of their votes."""

    def votes(self, train: Interactions, progress: Progress, binary: bool = False) -> Sparse:
        """By user, row u holds her neighbours; by item, row j holds the items that have j among theirs.

        That table is turned round, as scoring walks from source to target.
        """
        if self.by_user:
            return self.voters(Sparse.of_rows(train.by_user, binary), train.n_items, progress)
        votes = self.voters(Sparse.of_rows(train.by_item, binary), train.n_users, progress)
        return votes.transpose(train.n_items)


@settings
class Neighbours(NeighbourMethod):
    """The k rows b most similar to a row a, whole, with zeros where they have no entry.

    cosine: a . b / (|a|^(2 asymmetry) |b|^(2 - 2 asymmetry) + shrink); the others are in `kernels.similarity`.
    Only similarities above 0 count, a row is not its own neighbour, ties go to the lower id. A neighbour's vote
    weighs its similarity to the given power.
    """

    model: ClassVar[type[NeighbourModel]]
    k: Count = 100  # neighbours that vote
    asymmetry: Fraction = 0.5  # of the cosine: 0.5 is the plain one; above it long histories weigh more
    shrink: NonNegative = 0.0  # distrust of similarities that rest on little
    power: Positive = 1.0  # above 1 the nearest neighbours weigh more
    values: Literal["raw", "binary"] = "raw"  # the values as they come, or 1 for every row
    similarity: Measure = "cosine"  # how rows are compared

    def __post_init__(self) -> None:
        if self.similarity != "cosine" and self.asymmetry != 0.5:
            raise SettingError(
                f"{self.name}.asymmetry must stay 0.5 unless similarity is 'cosine', but it is "
                f"{self.asymmetry:g} with '{self.similarity}'; leave it out."
            )

    def voters(self, rows: Sparse, n_columns: int, progress: Progress = SILENT, first: int = 0) -> Sparse:
        """By the cosine, of all rows, or by another measure; the weight is the similarity to the power."""
        if self.similarity == "cosine":
            near = nearest_rows(rows, n_columns, self.k, self.asymmetry, self.shrink, progress)
        else:
            near = similar_rows(rows, n_columns, self.k, self.similarity, False, self.shrink, first, progress)
        return Sparse.of(near.start, near.column, near.value**self.power)

    def learn(self, train: Interactions, seed: int, progress: Progress) -> NeighbourModel:
        """Find the neighbours."""
        binary = self.values == "binary"
        return self.model(
            train, Sparse.of_rows(train.by_user, binary), self.votes(train, progress, binary), self
        )


@dataclass(frozen=True, eq=False)
class UserKnnModel(NeighbourModel):
    """Votes by user: row u holds her neighbours v."""

    def score(self, users: Ints) -> Singles:
        """score(u, i) = sum over v in N(u) of s_uv ^ power * x_vi."""
        return product_rows(users, self.votes, self.history, self.train.n_items)

    def score_history(self, items: Ints) -> Singles:
        """The same sum for someone new: her k nearest users are found on the spot; popularity without items."""
        own = np.unique(items)
        if not len(own):
            return popularity(self.train)
        scores: Singles = product_rows(ONE, self._nearest_to(own), self.history, self.train.n_items)[0]
        return scores

    def terms(self, user: int) -> ScoreTerms:
        """s_uv ^ power * x_vi for each of her neighbours v."""
        mine = slice(self.votes.start[user], self.votes.start[user + 1])
        return self._voter_terms(self.votes.column[mine], self.votes.value[mine])

    def terms_history(self, items: Ints, time: Longs | None = None) -> ScoreTerms:
        """The same for someone new; popularity without items."""
        own = np.unique(items)
        if not len(own):
            return ScoreTerms.of_popularity(popularity(self.train))
        near = self._nearest_to(own)
        return self._voter_terms(near.column, near.value)

    def _voter_terms(self, voters: Ints, weights: Floats) -> ScoreTerms:
        names = tuple(f"user {label}" for label in self.train.users.labels[voters].tolist())
        return ScoreTerms(names, np.zeros(0), weighted_rows(self.history, voters, weights, self.train.n_items))

    def _nearest_to(self, own: Ints) -> Sparse:
        """The votes of the k users most similar to someone with these items, each of value 1."""
        method, n_users = self.method, self.train.n_users
        if method.similarity != "cosine":
            grown = with_row(self.history, own.astype(np.int32), np.ones(len(own)))
            return method.voters(grown, self.train.n_items, first=n_users)
        mine = np.isin(self.history.column, own)
        user = np.repeat(np.arange(n_users), np.diff(self.history.start))
        dot = np.bincount(user[mine], self.history.value[mine], minlength=n_users)
        others = self.history.squares() ** (1 - method.asymmetry)
        met = np.flatnonzero(dot > 0)
        similarity = dot[met] / (len(own) ** method.asymmetry * others[met] + method.shrink)
        best = np.lexsort((met, -similarity))[: method.k]
        return Sparse.of(np.array([0, len(best)]), met[best], similarity[best] ** method.power)


@dataclass(frozen=True, eq=False)
class ItemKnnModel(NeighbourModel, OwnItemTerms):
    """Votes by source: row j holds the items i that have j among their neighbours."""

    def score(self, users: Ints) -> Singles:
        """score(u, i) = sum over j in N(i) of s_ij ^ power * x_uj."""
        return product_rows(users, self.history, self.votes, self.train.n_items)

    def score_history(self, items: Ints) -> Singles:
        """The same sum over the given items, each with x = 1; popularity for an empty history."""
        own = np.unique(items)
        if not len(own):
            return popularity(self.train)
        history = Sparse.of(np.array([0, len(own)]), own, np.ones(len(own)))
        scores: Singles = product_rows(ONE, history, self.votes, self.train.n_items)[0]
        return scores

    def weights_of(self, own: Ints) -> Floats:
        """s_ij ^ power of the items i that have j among their neighbours."""
        return weighted_rows(self.votes, own, np.ones(len(own)), self.train.n_items)


def weighted_rows(table: Sparse, rows: Ints, weights: Floats, n_columns: int) -> Floats:
    """Some rows of a sparse table, each times its weight: (rows, columns)."""
    found: Floats = np.zeros((len(rows), n_columns))
    for place, row in enumerate(rows.tolist()):
        mine = slice(table.start[row], table.start[row + 1])
        found[place, table.column[mine]] = weights[place] * table.value[mine]
    return found


@settings
class UserKnn(Neighbours):
    """The k most similar users of every user vote for what they liked."""

    name = "user-knn"
    model = UserKnnModel
    by_user = True


@settings
class ItemKnn(Neighbours):
    """The k most similar items of every item vote for it."""

    name = "item-knn"
    model = ItemKnnModel
    by_user = False
