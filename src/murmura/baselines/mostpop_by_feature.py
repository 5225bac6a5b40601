"""Most popular by feature: an item is as popular as the items with its features, even if nobody has it yet."""

from __future__ import annotations

import numpy as np

from murmura.baselines.base import Baseline, require_rows
from murmura.baselines.mostpop import PopularityModel
from murmura.core.interactions import Interactions
from murmura.core.model import Watch
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import settings
from murmura.kernels.item_weights import item_of_pairs, require_features


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
