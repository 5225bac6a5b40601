"""Sarwar, Karypis, Konstan and Riedl: Item-based collaborative filtering (WWW 2001), with the cosine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.baselines.base import popularity, require_rows
from murmura.baselines.neighbours import CosineNeighbours, NeighbourModel
from murmura.core.arrays import Ints, Singles
from murmura.core.interactions import Interactions
from murmura.core.model import Watch
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import settings
from murmura.kernels.sparse import Sparse, product_rows


@dataclass(frozen=True, eq=False)
class ItemKnnModel(NeighbourModel):
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
        scores: Singles = product_rows(np.zeros(1, np.int32), history, self.votes, self.train.n_items)[0]
        return scores


@settings
class ItemKnn(CosineNeighbours):
    """The k most similar items of every item vote for it."""

    name = "item-knn"
    model = ItemKnnModel

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> ItemKnnModel:
        """Find every item's neighbours, then turn the table round: scoring walks from source to target."""
        require_rows(train, self.name)
        votes = self.voters(Sparse.of_rows(train.by_item, self.binary), train.n_users, progress)
        history = Sparse.of_rows(train.by_user, self.binary)
        return ItemKnnModel(train, history, votes.transpose(train.n_items), self)
