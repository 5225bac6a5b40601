"""The vector space model of Di Noia, Mirizzi, Ostuni, Romito and Zanker (I-SEMANTICS 2012), as rival of KGFlex.

Items are TF-IDF vectors over their features, a user is the mean of her items, and score(u, i) = cos(p_u, w_i).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field

from murmura.baselines.base import Baseline, RankingModel, popularity
from murmura.core.arrays import Ints, Singles
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.settings import settings
from murmura.kernels.item_weights import item_vectors, require_features
from murmura.kernels.sparse import Sparse, dense_times_sparse, product_rows


@dataclass(frozen=True, eq=False)
class VsmModel(RankingModel):
    """The items' vectors; a user's is made when she is scored, so that no users x features table exists."""

    weights: Sparse  # (items, features), rows of length 1 or 0

    def score(self, users: Ints) -> Singles:
        """cos(p_u, w_i), also of items that nobody has; popularity for whom no item of hers has a feature."""
        return self._cosines(users, Sparse.of_rows(self.train.by_user, binary=True))

    def score_history(self, items: Ints) -> Singles:
        """The same with the mean of the given items; popularity for an empty history."""
        own = np.unique(items)
        scores: Singles = self._cosines(
            np.zeros(1, np.int32), Sparse.of(np.array([0, len(own)]), own, np.ones(len(own)))
        )[0]
        return scores

    def arrays(self) -> Arrays:
        """The items' vectors."""
        start, column, value = self.weights
        return {"start": start, "column": column, "value": value}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the items' vectors."""
        return cls(train, Sparse.of(arrays["start"], arrays["column"], arrays["value"]))

    @cached_property
    def _by_feature(self) -> Sparse:
        return self.weights.transpose(int(self.weights.column.max()) + 1)

    def _cosines(self, wanted: Ints, histories: Sparse) -> Singles:
        profile = product_rows(wanted, histories, self.weights, len(self._by_feature.start) - 1)
        length = np.linalg.norm(profile, axis=1, keepdims=True)
        profile /= np.where(length > 0, length, 1)  # the cosine knows no scale: a sum is as good as a mean
        scores: Singles = np.zeros((len(wanted), self.train.n_items), np.float32)
        dense_times_sparse(profile, self._by_feature, scores)
        scores[length[:, 0] == 0] = popularity(self.train)
        return scores


@settings
class Vsm(Baseline):
    """Shows what is most like the mean of what the user has, by features alone: nobody else's rows count."""

    name = "vsm"
    model = VsmModel
    seeded = False

    least_share: Annotated[float, Field(gt=0, le=1)] | None = None  # of the items with a feature; None: any

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse items without features, and to leave none of them."""
        item_vectors(require_features(train, self.name), self.least_share, self.name)

    def learn(self, train: Interactions, seed: int, progress: Progress) -> VsmModel:
        """Weigh the features."""
        features = require_features(train, self.name)
        return VsmModel(train, item_vectors(features, self.least_share, self.name).weights)
