"""Shen, Wu, Zhang, Shan, Zhang, Letaief, Li: How powerful is graph convolution for recommendation? (CIKM 2021).

GF-CF: with R = D_U^-1/2 X D_I^-1/2 the scores of a history x are x (S + alpha D_I^-1/2 V V' D_I^1/2), where
S = R' R and V holds the `factors` strongest right singular vectors of R. S is sparse; V has a fixed start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from murmura.baselines.base import Baseline, RankingModel, popularity
from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.settings import Count, NonNegative, settings


@dataclass(frozen=True, eq=False)
class GraphFilter(RankingModel):
    """The directions; S is made of the rows when it is asked for."""

    V: Singles  # (items, factors)
    alpha: float

    @cached_property
    def _rows(self) -> Any:
        return _scaled(self.train)

    @cached_property
    def _gram(self) -> Any:
        return (self._rows.T @ self._rows).tocsr()

    def score(self, users: Ints) -> Singles:
        """Of known users."""
        from scipy.sparse import csr_matrix

        rows = self.train.by_user
        x = csr_matrix((np.ones(len(rows.index)), rows.index, rows.start), (self.train.n_users, len(self.V)))
        return self._filtered(x[users])

    def score_history(self, items: Ints) -> Singles:
        """Of someone new; popularity without items."""
        from scipy.sparse import csr_matrix

        own = np.unique(items)
        if not len(own):
            return popularity(self.train)
        x = csr_matrix((np.ones(len(own)), own, [0, len(own)]), (1, len(self.V)))
        return np.asarray(self._filtered(x)[0])

    def _filtered(self, x: Any) -> Singles:
        root = np.sqrt(np.maximum(self.train.item_counts, 1))
        low = (x.multiply(1 / root).tocsr() @ self.V) @ self.V.T * root
        scores: Singles = ((x @ self._gram).toarray() + self.alpha * low).astype(np.float32)
        return scores

    def arrays(self) -> Arrays:
        """The directions."""
        return {"V": self.V}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the directions."""
        return cls(train, arrays["V"], method.alpha)


def _scaled(train: Interactions) -> Any:
    """R."""
    from scipy.sparse import csr_matrix

    rows = train.by_user
    scale: Floats = np.repeat(np.maximum(train.user_counts, 1) ** -0.5, np.diff(rows.start))
    scale = scale * np.maximum(train.item_counts, 1)[rows.index] ** -0.5
    return csr_matrix((scale, rows.index, rows.start), (train.n_users, train.n_items))


@settings
class GfCf(Baseline):
    """A linear filter and an ideal low-pass one, both closed."""

    name = "gf-cf"
    model = GraphFilter
    seeded = False

    factors: Count = 256  # strongest directions of the low-pass filter
    alpha: NonNegative = 0.3  # its weight beside the linear one

    def learn(self, train: Interactions, seed: int, progress: Progress) -> GraphFilter:
        """The strongest directions."""
        from scipy.sparse.linalg import svds

        R, smaller = _scaled(train), min(train.n_users, train.n_items)
        few = min(self.factors, smaller - 1)
        if few < 1:
            return GraphFilter(train, np.zeros((train.n_items, 1), np.float32), self.alpha)
        start = np.random.default_rng(0).standard_normal(smaller)
        _, _, V = svds(R, k=few, v0=start, solver="arpack")
        return GraphFilter(train, np.ascontiguousarray(V.T, np.float32), self.alpha)
