"""Rivals of KGFlex that know items by their features: Vsm and Kahfm.

Vsm: the vector space model of Di Noia, Mirizzi, Ostuni, Romito and Zanker (I-SEMANTICS 2012). Items are TF-IDF
vectors over their features, a user is the mean of her items, and score(u, i) = cos(p_u, w_i).

Kahfm: Anelli, Di Noia, Di Sciascio, Ragone and Trotta: How to make latent factors interpretable by feeding
factorization machines with knowledge graphs (ISWC 2019).

Every factor is a feature: score(u, i) = p_u . q_i + b_i. First q_i is the item's TF-IDF vector, p_u the mean of
her items' vectors and b is 0; then all of it is trained by BPR, as in bpr-mf, and an item may gain a feature it
is not known to have. Not followed are three points in which the authors' later code, behind the results printed
beside KGFlex (thesis, table 6.1), departs from the paper: of a profile it keeps the value of the last item, it
sums the loss over every pair of triples of a batch, and its regularisation never reaches the loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field

from murmura.baselines.base import Baseline, RankingModel, popularity
from murmura.baselines.bpr_mf import BprModel, Order, PairwiseBaseline
from murmura.core.arrays import Ints, Singles
from murmura.core.errors import MemoryLimitError
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.settings import Count, NonNegative, Positive, settings
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
    uses_features = True
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


@dataclass(frozen=True, eq=False)
class KahfmModel(BprModel):
    """Vectors over features: column f of P and Q is the f-th feature that was kept."""

    def first_vector(self, own: Ints) -> Singles:
        """Someone new begins as a user of the training part: at the mean of her items' vectors."""
        mean: Singles = self.Q[own].mean(axis=0)
        return mean


@settings
class Kahfm(PairwiseBaseline):
    """Factorisation over the items' features, trained to rank an own item above another one."""

    name = "kahfm"
    uses_features = True
    model = KahfmModel

    least_share: Annotated[float, Field(gt=0, le=1)] | None = None  # of the items with a feature; None: any
    alpha: Positive = 0.05  # learning rate
    reg: NonNegative | None = None  # None: alpha / 20
    epochs: Count = 20  # each has as many triples as training rows
    order: Order = "user-grouped"  # which triples follow each other
    memory_gb: Positive = 8.0  # tables that would need more are refused

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse items without features, and tables that would not fit."""
        _, kept = item_vectors(require_features(train, self.name), self.least_share, self.name)
        self._refuse_too_large(train.n_users + train.n_items, len(kept))

    def first_tables(self, train: Interactions, seed: int) -> tuple[Singles, Singles, Singles]:
        """The items' TF-IDF vectors, their means over each user's items, and biases of 0."""
        weights, kept = item_vectors(require_features(train, self.name), self.least_share, self.name)
        Q: Singles = np.zeros((train.n_items, len(kept)), np.float32)
        Q[np.repeat(np.arange(train.n_items), np.diff(weights.start)), weights.column] = weights.value
        histories = Sparse.of_rows(train.by_user, binary=True)
        P = product_rows(np.arange(train.n_users, dtype=np.int32), histories, weights, len(kept))
        P /= np.maximum(train.user_counts, 1)[:, None]
        return P, Q, np.zeros(train.n_items, np.float32)

    def _refuse_too_large(self, rows: int, features: int) -> None:
        needed = 4 * rows * features / 1e9
        if needed > self.memory_gb:
            raise MemoryLimitError(
                f"kahfm.memory_gb must be at least {math.ceil(10 * needed) / 10} for {rows} users and items "
                f"with {features} features each, but it is {self.memory_gb:g}; raise it, or keep fewer "
                "features by least_share."
            )
