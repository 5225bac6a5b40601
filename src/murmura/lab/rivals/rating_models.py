"""What rivals that predict ratings share.

The baseline predictor is that of Koren: Factorization meets the neighborhood (KDD 2008), section 2.1:
mu + b_u + b_i, with biases that are means drawn towards 0 by a few ratings of no bias.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from murmura.baselines.base import RankingModel, popularity
from murmura.core.arrays import Floats, Ints
from murmura.core.interactions import Interactions

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
