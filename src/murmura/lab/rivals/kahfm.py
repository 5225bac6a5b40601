"""Anelli, Di Noia, Di Sciascio, Ragone and Trotta: How to make latent factors interpretable by feeding
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
from typing import Annotated

import numpy as np
from pydantic import Field

from murmura.baselines.bpr_mf import BprModel, Order, PairwiseBaseline
from murmura.core.arrays import Ints, Singles
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.settings import Count, NonNegative, Positive, settings
from murmura.kernels.item_weights import item_vectors, require_features
from murmura.kernels.sparse import Sparse, product_rows


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
            raise SettingError(
                f"kahfm.memory_gb must be at least {math.ceil(10 * needed) / 10} for {rows} users and items "
                f"with {features} features each, but it is {self.memory_gb:g}; raise it, or keep fewer "
                "features by least_share."
            )
