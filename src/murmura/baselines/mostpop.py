"""Most popular: every user is shown the items with the most training interactions.

By feature, an item is as popular as the items with its features, even if nobody has it yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from murmura.baselines.base import Baseline, RankingModel, require_rows
from murmura.core.arrays import Floats, Ints
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays, Watch
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import settings
from murmura.kernels.item_weights import item_of_pairs, require_features


@dataclass(frozen=True, eq=False)
class PopularityModel(RankingModel):
    """One score per item, the same for everyone."""

    count: Floats  # (items,)

    def score(self, users: Ints) -> Floats:
        """The counts, once per user."""
        return np.tile(self.count, (len(users), 1))

    def score_history(self, items: Ints) -> Floats:
        """The counts: popularity asks nothing of the user."""
        return self.count.copy()

    def arrays(self) -> Arrays:
        """The counts."""
        return {"count": self.count}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the counts."""
        return cls(train, arrays["count"])


@settings
class MostPop(Baseline):
    """Score = the number of training interactions of the item."""

    name = "mostpop"
    model = PopularityModel
    seeded = False

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> PopularityModel:
        """Count."""
        require_rows(train, self.name)
        return PopularityModel(train, train.item_counts.astype(np.float64))


@settings
class MostPopByFeature(Baseline):
    """Score = the mean, over the item's features, of the training rows per training item with that feature."""

    name = "mostpop-by-feature"
    model = PopularityModel
    seeded = False

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse items without features."""
        require_features(train, self.name)

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> PopularityModel:
        """Count, first the rows of each feature, then the features of each item."""
        require_rows(train, self.name)
        features = require_features(train, self.name)
        item, feature, rows = item_of_pairs(features), features.feature, train.item_counts
        met = np.bincount(feature, rows[item] > 0, minlength=len(features))  # an item nobody has says nothing
        popularity = np.bincount(feature, rows[item], minlength=len(features)) / np.maximum(met, 1)
        total = np.bincount(item, popularity[feature], minlength=features.items)
        return PopularityModel(train, total / np.maximum(np.diff(features.start), 1))
