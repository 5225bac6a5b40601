"""Resnick et al.: GroupLens (CSCW 1994), neighbours by the cosine of their histories, votes summed."""

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
class UserKnnModel(NeighbourModel):
    """Votes by user: row u holds her neighbours v."""

    def score(self, users: Ints) -> Singles:
        """score(u, i) = sum over v in N(u) of s_uv ^ power * x_vi."""
        return product_rows(users, self.votes, self.history, self.train.n_items)

    def score_history(self, items: Ints) -> Singles:
        """The same sum for someone new: her k nearest users are found on the spot; popularity without items."""
        own = np.unique(items)
        if not len(own):
            return popularity(self.train)
        method, n_users = self.method, self.train.n_users
        mine = np.isin(self.history.column, own)
        user = np.repeat(np.arange(n_users), np.diff(self.history.start))
        dot = np.bincount(user[mine], self.history.value[mine], minlength=n_users)
        others = self.history.squares() ** (1 - method.asymmetry)
        met = np.flatnonzero(dot > 0)
        similarity = dot[met] / (len(own) ** method.asymmetry * others[met] + method.shrink)
        best = np.lexsort((met, -similarity))[: method.k]
        near = Sparse.of(np.array([0, len(best)]), met[best], similarity[best] ** method.power)
        scores: Singles = product_rows(np.zeros(1, np.int32), near, self.history, self.train.n_items)[0]
        return scores


@settings
class UserKnn(CosineNeighbours):
    """The k most similar users of every user vote for what they liked."""

    name = "user-knn"
    model = UserKnnModel

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> UserKnnModel:
        """Find every user's neighbours."""
        require_rows(train, self.name)
        history = Sparse.of_rows(train.by_user, self.binary)
        return UserKnnModel(train, history, self.voters(history, train.n_items, progress), self)
