"""What models of one kind share: of user and item vectors, of ratings, and of sums over a person's own items.

Vectors answer p_u . q_i + b_i. The baseline predictor of ratings is that of Koren: Factorization meets the
neighborhood (KDD 2008), section 2.1: mu + b_u + b_i, with biases that are means drawn towards 0 by a few
ratings of no bias. EASE and Item-kNN sum what each own item adds.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from murmura.baselines.base import RankingModel, popularity
from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.interactions import Interactions
from murmura.core.model import ScoreTerms
from murmura.core.rng import Purpose, Rng, server_secret
from murmura.kernels.sparse import Sparse


@dataclass(frozen=True, eq=False)
class FactorModel(RankingModel):
    """One vector per user, one vector and one bias per item, and the settings they were learned with."""

    P: Singles  # (users, factors)
    Q: Singles  # (items, factors)
    b: Singles  # (items,)
    method: Any
    learned: ClassVar[tuple[str, ...]] = ("P", "Q", "b")

    def score(self, users: Ints) -> Singles:
        """score(u, i) = p_u . q_i + b_i, in one matrix product: the bias is one more factor of weight 1."""
        one = np.ones((len(users), 1), np.float32)
        scores: Singles = np.hstack([self.P[users], one]) @ self._with_bias
        return scores

    @cached_property
    def _with_bias(self) -> Singles:
        return np.ascontiguousarray(np.hstack([self.Q, self.b[:, None]]).T)  # (factors + 1, items)

    def score_history(self, items: Ints) -> Singles:
        """The same with a vector found for the given items, the item vectors held; popularity for none."""
        own = np.unique(items).astype(np.int32)
        if not len(own):
            return popularity(self.train)
        scores: Singles = self.Q @ self.fold_in(own) + self.b
        return scores

    @abstractmethod
    def fold_in(self, own: Ints) -> Singles:
        """The vector of someone new who likes `own` (ascending, at least one): (factors,)."""

    @property
    def item_vectors(self) -> Singles:
        """q_i."""
        return self.Q


def normal_tables(seed: int, std: float, *shapes: tuple[int, ...]) -> list[Singles]:
    """Tables of independent normals, one after the other from the stream a seed has for first models."""
    stream = Rng(server_secret(seed)).stream(Purpose.INIT)
    return [(std * stream.normals(int(np.prod(shape)))).reshape(shape).astype(np.float32) for shape in shapes]


ITEM_PRIOR, USER_PRIOR = 5.0, 2.0  # ratings at the mean added to every item's, and to everyone's


@dataclass(frozen=True, eq=False)
class RatingModel(RankingModel):
    """A model that predicts ratings; an item's score is the rating the user is expected to give."""

    @abstractmethod
    def predict_history(self, items: Ints, values: Floats) -> Floats:
        """The ratings someone unknown would give to all items, from those she gave: (items,)."""

    def score_history(self, items: Ints) -> Floats:
        """For someone who gave each of `items` the best rating there is; popularity for no items."""
        own = np.unique(items).astype(np.int32)
        if not len(own):
            return popularity(self.train).astype(np.float64)
        return self.predict_history(own, np.full(len(own), self.train.value.max()))


@dataclass(frozen=True, eq=False)
class Biases:
    """mu + b_u + b_i."""

    mu: float
    users: Floats  # (users,)
    items: Floats  # (items,)

    @staticmethod
    def of(train: Interactions) -> Biases:
        """Items first, then what is left of everyone's ratings."""
        mu = float(train.value.mean())
        summed = np.bincount(train.item, train.value - mu, minlength=train.n_items)
        b_i: Floats = summed / (train.item_counts + ITEM_PRIOR)
        b_u = np.bincount(train.user, train.value - mu - b_i[train.item], minlength=train.n_users)
        return Biases(mu, b_u / (train.user_counts + USER_PRIOR), b_i)

    def at(self, users: Ints, items: Ints) -> Floats:
        """Of each pair."""
        found: Floats = self.mu + self.users[users] + self.items[items]
        return found

    def rows(self, users: Ints) -> Floats:
        """Of all items for some users: (users, items)."""
        found: Floats = (self.mu + self.users[users])[:, None] + self.items
        return found

    def newcomer(self, items: Ints, values: Floats) -> float:
        """b_u of someone who gave these ratings."""
        return float((values - self.mu - self.items[items]).sum() / (len(items) + USER_PRIOR))


class OwnItemTerms(RankingModel):
    """score(u, i) = sum over her items j of x_uj w_ji."""

    history: Sparse  # (users, items) x_uj

    @abstractmethod
    def weights_of(self, own: Ints) -> Floats:
        """The rows w_j of some items: (own, items)."""

    def terms(self, user: int) -> ScoreTerms:
        """x_uj w_ji for each of her items j."""
        mine = slice(self.history.start[user], self.history.start[user + 1])
        return self._terms(self.history.column[mine], self.history.value[mine])

    def terms_history(self, items: Ints, time: Longs | None = None) -> ScoreTerms:
        """The same for the given items, each with x = 1."""
        own = np.unique(items).astype(np.int32)
        return self._terms(own, np.ones(len(own)))

    def _terms(self, own: Ints, x: Floats) -> ScoreTerms:
        if not len(own):
            return ScoreTerms.of_popularity(popularity(self.train))
        return ScoreTerms.of_items(own, self.train.items.labels, x[:, None] * self.weights_of(own))
