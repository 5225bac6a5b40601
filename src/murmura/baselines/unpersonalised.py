"""Baselines that ask nothing of the user: the most popular items, and items at random.

Most popular: every user is shown the items with the most training interactions. By feature, an item is as
popular as the items with its features, even if nobody has it yet. Random: every user is shown unseen training
items, each equally likely, none twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from murmura.baselines.base import Baseline, RankingModel
from murmura.core.arrays import Floats, Ints
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.rng import Purpose, Words, client_secrets, guest_secret
from murmura.core.settings import settings
from murmura.kernels.item_weights import item_of_pairs, require_features
from murmura.kernels.philox import fill_uniform


@dataclass(frozen=True, eq=False)
class PopularityModel(RankingModel):
    """One score per item, the same for everyone."""

    count: Floats  # (items,)
    learned = ("count",)

    def score(self, users: Ints) -> Floats:
        """The counts, once per user."""
        return np.tile(self.count, (len(users), 1))

    def score_history(self, items: Ints) -> Floats:
        """The counts: popularity asks nothing of the user."""
        return self.count.copy()


@settings
class MostPop(Baseline):
    """Score = the number of training interactions of the item."""

    name = "mostpop"
    model = PopularityModel
    seeded = False

    def learn(self, train: Interactions, seed: int, progress: Progress) -> PopularityModel:
        """Count."""
        return PopularityModel(train, train.item_counts.astype(np.float64))


@settings
class MostPopByFeature(Baseline):
    """Score = the mean, over the item's features, of the training rows per training item with that feature."""

    name = "mostpop-by-feature"
    model = PopularityModel
    uses_features = True
    seeded = False

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse items without features."""
        require_features(train, self.name)

    def learn(self, train: Interactions, seed: int, progress: Progress) -> PopularityModel:
        """Count, first the rows of each feature, then the features of each item."""
        features = require_features(train, self.name)
        item, feature, rows = item_of_pairs(features), features.feature, train.item_counts
        met = np.bincount(feature, rows[item] > 0, minlength=len(features))  # an item nobody has says nothing
        popularity = np.bincount(feature, rows[item], minlength=len(features)) / np.maximum(met, 1)
        total = np.bincount(item, popularity[feature], minlength=features.items)
        return PopularityModel(train, total / np.maximum(np.diff(features.start), 1))


@dataclass(frozen=True, eq=False)
class RandomModel(RankingModel):
    """An independent uniform score for every pair: a pure function of the seed, the user and the item."""

    seed: int
    secrets: Words  # (users, 2)

    def score(self, users: Ints) -> Floats:
        """Sorting independent uniform scores is drawing without replacement; nothing but the block is kept."""
        return self._draw(self.secrets[users])

    def score_history(self, items: Ints) -> Floats:
        """The scores of a guest: the same for every newcomer."""
        scores: Floats = self._draw(guest_secret(self.seed)[None, :])[0]
        return scores

    def arrays(self) -> Arrays:
        """The seed."""
        return {"seed": np.array([self.seed], np.uint64)}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the seed."""
        seed = int(arrays["seed"][0])
        return cls(train, seed, client_secrets(seed, train.n_users))

    def _draw(self, secrets: Words) -> Floats:
        out: Floats = np.empty((len(secrets), self.train.n_items))
        fill_uniform(np.ascontiguousarray(secrets), np.uint64(0), np.uint64(Purpose.CHOICE), np.uint64(0), out)
        return out


@settings
class Random(Baseline):
    """A list drawn without replacement for each user."""

    name = "random"
    model = RandomModel

    def learn(self, train: Interactions, seed: int, progress: Progress) -> RandomModel:
        """Remember the seed."""
        return RandomModel(train, seed, client_secrets(seed, train.n_users))
