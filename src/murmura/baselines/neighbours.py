"""User-kNN and Item-kNN: neighbours by the similarity of their rows, votes summed.

Resnick et al.: GroupLens (CSCW 1994), users; Sarwar, Karypis, Konstan and Riedl: Item-based collaborative
filtering (WWW 2001), items. The asymmetric cosine and the power ("locality") are from Aiolli: Efficient top-N
recommendation for very large scale binary rated datasets (RecSys 2013). Both default to the plain cosine.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from murmura.baselines.information import InformedBaseline, InformedModel, Share
from murmura.baselines.shared_models import OwnItemTerms
from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays, ScoreTerms
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import Count, Fraction, NonNegative, Positive, settings
from murmura.kernels.similarity import Measure, most_shared, nearest_rows, similar_rows, with_row
from murmura.kernels.sparse import Sparse, product_rows


@dataclass(frozen=True, eq=False)
class NeighbourModel(InformedModel):
    """A sparse table of votes, and the histories it meets."""

    method: Neighbours
    votes: Sparse  # (users, users) or (items, items)

    def arrays(self) -> Arrays:
        """The votes."""
        start, column, value = self.votes
        return {"start": start, "column": column, "value": value}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the votes."""
        votes = Sparse.of(arrays["start"], arrays["column"], arrays["value"])
        used = method.used(train)
        return cls(train, method.ranked(used, method.table(used)), method, votes)


@settings
class Neighbours(InformedBaseline):
    """The k rows b most similar to a row a, whole, with zeros where they have no entry.

    cosine: a . b / (|a|^(2 asymmetry) |b|^(2 - 2 asymmetry) + shrink); the others are in `kernels.similarity`.
    Only similarities above 0 count, a row is not its own neighbour, ties go to the lower id. A neighbour's vote
    weighs its similarity to the given power.
    """

    seeded = False
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

    def table(self, used: Interactions) -> Sparse:
        """x: (users, items)."""
        return Sparse.of_rows(used.by_user, self.values == "binary")

    def near(self, rows: Sparse, n_columns: int, progress: Progress = SILENT, first: int = 0) -> Sparse:
        """The neighbours of every row, by another measure than the cosine from `first` on."""
        if self.similarity == "cosine":
            return nearest_rows(rows, n_columns, self.k, self.asymmetry, self.shrink, progress)
        return similar_rows(rows, n_columns, self.k, self.similarity, False, self.shrink, first, progress)

    def weighed(self, near: Sparse) -> Sparse:
        """Similarities as votes."""
        return Sparse.of(near.start, near.column, near.value**self.power)

    @abstractmethod
    def votes(self, used: Interactions, progress: Progress) -> Sparse:
        """By user, row u holds her neighbours; by item, row j holds the items for which j votes."""

    def learn(self, train: Interactions, seed: int, progress: Progress) -> NeighbourModel:
        """Find the neighbours."""
        used = self.used(train)
        return self.model(train, self.ranked(used, self.table(used)), self, self.votes(used, progress))


@dataclass(frozen=True, eq=False)
class UserKnnModel(NeighbourModel):
    """Votes by user: row u holds her neighbours v."""

    method: UserKnn

    @cached_property
    def x(self) -> Sparse:
        """What neighbours vote for: (users, items), no item newer than another."""
        return self.method.table(self.method.used(self.train))

    def score_rows(self, users: Ints, history: Sparse) -> Singles:
        """score(u, i) = sum over v in N(u) of s_uv ^ power * x_vi; of someone new neighbours are found here."""
        votes = self.votes if history is self.history else self._nearest_to(history)
        return product_rows(users, votes, self.x, self.train.n_items)

    def terms(self, user: int) -> ScoreTerms | None:
        """s_uv ^ power * x_vi for each of her neighbours v."""
        mine = slice(self.votes.start[user], self.votes.start[user + 1])
        return self._voter_terms(self.votes.column[mine], self.votes.value[mine])

    def terms_history(self, items: Ints, time: Longs | None = None) -> ScoreTerms | None:
        """The same for someone new; popularity without items."""
        own, weight = self.weighted_history(items, time)
        if not len(own):
            return ScoreTerms.of_popularity(self.counts)
        near = self._nearest_to(Sparse.of(np.array([0, len(own)]), own, weight))
        return self._voter_terms(near.column, near.value)

    def _voter_terms(self, voters: Ints, weights: Floats) -> ScoreTerms | None:
        if self.method.discount:
            return None
        names = tuple(f"user {label}" for label in self.train.users.labels[voters].tolist())
        return ScoreTerms(names, np.zeros(0), weighted_rows(self.x, voters, weights, self.train.n_items))

    def _nearest_to(self, history: Sparse) -> Sparse:
        """The votes of the k users most similar to someone with one row of weighted items."""
        method, n_users, own = self.method, self.train.n_users, history.column
        if method.similarity != "cosine":
            grown = with_row(self.x, own, history.value)
            return method.weighed(method.near(grown, self.train.n_items, first=n_users))
        weight = np.zeros(self.train.n_items)
        weight[own] = history.value
        user = np.repeat(np.arange(n_users), np.diff(self.x.start))
        dot = np.bincount(user, self.x.value * weight[self.x.column], minlength=n_users)
        others = self.x.squares() ** (1 - method.asymmetry)
        met = np.flatnonzero(dot > 0)
        length = float((history.value**2).sum())
        similarity = dot[met] / (length**method.asymmetry * others[met] + method.shrink)
        best = np.lexsort((met, -similarity))[: method.k]
        near = Sparse.of(np.array([0, len(best)]), met[best], similarity[best])
        return method.weighed_by_user(method.weighed(near), history, self.x)


@dataclass(frozen=True, eq=False)
class ItemKnnModel(OwnItemTerms, NeighbourModel):
    """Votes by source: row j holds the items i for which j votes."""

    def score_rows(self, users: Ints, history: Sparse) -> Singles:
        """score(u, i) = sum over j in N(i) of s_ij ^ power * x_uj."""
        return product_rows(users, history, self.votes, self.train.n_items)

    def weights_of(self, own: Ints) -> Floats:
        """s_ij ^ power of the items i for which j votes."""
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
    newest: bool = False  # whether a vote counts as much as, by recency, the newest item both have

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.similarity != "cosine" and self.recency:
            raise SettingError(
                f"user-knn.recency must be 0 unless similarity is 'cosine', but it is {self.recency:g} with "
                f"'{self.similarity}'; leave it out."
            )

    def votes(self, used: Interactions, progress: Progress) -> Sparse:
        """Users are compared as lists are ranked: the newest items of who asks count most."""
        x = self.table(used)
        asking = self.ranked(used, x)
        if not self.recency:
            near = self.near(x, used.n_items, progress)
        else:
            near = nearest_rows(x, used.n_items, self.k, self.asymmetry, self.shrink, progress, asking)
        return self.weighed_by_user(self.weighed(near), asking, x)

    def weighed_by_user(self, votes: Sparse, asking: Sparse, x: Sparse) -> Sparse:
        """Votes, each times the weight of the person who votes, and of the newest item that is shared."""
        value = votes.value * np.maximum(np.diff(x.start)[votes.column], 1.0) ** -self.person_weight
        if self.newest:
            value = value * most_shared(votes, asking, x)
        return Sparse.of(votes.start, votes.column, value)


@settings
class VSknn(UserKnn):
    """V-SKNN (Ludewig and Jannach, UMUAI 2018): the newest items weigh most where people are compared.

    A history is one session, and all people are compared, not the newest thousand. Decays are 1 / (1 + g).
    """

    name = "v-sknn"
    asymmetry: Fraction = 1.0  # as in the paper, the length of a neighbour's history does not count
    recency: Share = 1.0  # an item followed by g newer ones counts (1 + g)^-recency
    newest: bool = True  # whether a vote counts as much as, by recency, the newest item both have
    values: Literal["raw", "binary"] = "binary"  # the values as they come, or 1 for every row


@settings
class ItemKnn(Neighbours):
    """The k most similar items of every item vote for it, or each item for the k most similar ones."""

    name = "item-knn"
    model = ItemKnnModel
    features: NonNegative = 0.0  # how much the cosine of two items by public features adds to their product
    cut: Literal["candidate", "own"] = "candidate"  # whose k neighbours: those of the item ranked, or of hers

    def votes(self, used: Interactions, progress: Progress) -> Sparse:
        """Row j: whose neighbour j is (Sarwar et al.), or its own neighbours (Deshpande and Karypis, 2004)."""
        people = self.with_features(self.personal(self.table(used), 0.5), used, self.features)
        rows, n_columns = people.transpose(used.n_items), len(people.start) - 1
        if self.cut == "candidate":
            return self.weighed(self.near(rows, n_columns, progress)).transpose(used.n_items)
        turned = replace(self, asymmetry=1 - self.asymmetry)
        return self.weighed(turned.near(rows, n_columns, progress))
