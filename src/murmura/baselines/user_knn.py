"""Resnick et al.: GroupLens (CSCW 1994), neighbours by the cosine of their histories, votes summed.

The asymmetric cosine and the power ("locality") are Aiolli's (RecSys 2013); both default to the plain cosine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from murmura.baselines.base import Arrays, Baseline, Model, Watch, popularity, require_rows
from murmura.core.arrays import Ints, Singles
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import settings
from murmura.kernels.sparse import Sparse, nearest_rows, product_rows


@dataclass(frozen=True, eq=False)
class UserKnnModel(Model):
    """Every user's neighbours and what those liked."""

    history: Sparse  # (users, items) x_vi
    near: Sparse  # (users, users) s_uv ^ power
    method: UserKnn

    def score(self, users: Ints) -> Singles:
        """score(u, i) = sum over v in N(u) of s_uv ^ power * x_vi."""
        return product_rows(users, self.near, self.history, self.train.n_items)

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

    def arrays(self) -> Arrays:
        """The neighbourhood, and x."""
        start, column, value = self.near
        return {"start": start, "column": column, "value": value, "history": self.history.value}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the neighbourhood."""
        by_user = train.by_user
        return cls(
            train,
            Sparse.of(by_user.start, by_user.index, arrays["history"]),
            Sparse.of(arrays["start"], arrays["column"], arrays["value"]),
            method,
        )


@settings
class UserKnn(Baseline):
    """The k most similar users of every user vote for what they liked.

    s_uv = x_u . x_v / (|x_u|^(2 asymmetry) |x_v|^(2 - 2 asymmetry) + shrink). Neighbour ties go to the lower
    user id; a user is not her own neighbour.
    """

    name = "user-knn"
    model = UserKnnModel
    seeded = False

    k: Annotated[int, Field(ge=1)] = 100
    asymmetry: Annotated[float, Field(ge=0, le=1)] = 0.5
    shrink: Annotated[float, Field(ge=0)] = 0.0
    power: Annotated[float, Field(gt=0)] = 1.0
    values: Literal["raw", "binary"] = "raw"

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> UserKnnModel:
        """Find every user's neighbours."""
        require_rows(train, self.name)
        history = Sparse.of_rows(train.by_user, self.values == "binary")
        near = nearest_rows(history, train.n_items, self.k, self.asymmetry, self.shrink, progress)
        return UserKnnModel(train, history, Sparse.of(near.start, near.column, near.value**self.power), self)
