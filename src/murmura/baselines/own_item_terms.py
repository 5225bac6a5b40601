"""Scores that are sums over a person's own items, as EASE and Item-kNN have them: what each item adds."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from murmura.baselines.base import RankingModel, popularity
from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.model import ScoreTerms
from murmura.kernels.sparse import Sparse


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
