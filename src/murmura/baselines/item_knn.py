"""Sarwar, Karypis, Konstan and Riedl: Item-based collaborative filtering (WWW 2001), with the cosine.

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
class ItemKnnModel(Model):
    """Which items an item speaks for: row j holds the targets i that have j among their neighbours."""

    history: Sparse  # (users, items) x_uj
    spoken_for: Sparse  # (items, items) s_ij ^ power, by source j

    def score(self, users: Ints) -> Singles:
        """score(u, i) = sum over j in N(i) of s_ij ^ power * x_uj."""
        return product_rows(users, self.history, self.spoken_for, self.train.n_items)

    def score_history(self, items: Ints) -> Singles:
        """The same sum over the given items, each with x = 1; popularity for an empty history."""
        own = np.unique(items)
        if not len(own):
            return popularity(self.train)
        history = Sparse.of(np.array([0, len(own)]), own, np.ones(len(own)))
        scores: Singles = product_rows(np.zeros(1, np.int32), history, self.spoken_for, self.train.n_items)[0]
        return scores

    def arrays(self) -> Arrays:
        """The neighbourhood by source, and x."""
        start, column, value = self.spoken_for
        return {"start": start, "column": column, "value": value, "history": self.history.value}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the neighbourhood."""
        by_user = train.by_user
        return cls(
            train,
            Sparse.of(by_user.start, by_user.index, arrays["history"]),
            Sparse.of(arrays["start"], arrays["column"], arrays["value"]),
        )


@settings
class ItemKnn(Baseline):
    """The k most similar items of every item vote for it.

    s_ij = x_i . x_j / (|x_i|^(2 asymmetry) |x_j|^(2 - 2 asymmetry) + shrink). Neighbour ties go to the lower
    item id; an item is not its own neighbour.
    """

    name = "item-knn"
    model = ItemKnnModel
    seeded = False

    k: Annotated[int, Field(ge=1)] = 100
    asymmetry: Annotated[float, Field(ge=0, le=1)] = 0.5
    shrink: Annotated[float, Field(ge=0)] = 0.0
    power: Annotated[float, Field(gt=0)] = 1.0
    values: Literal["raw", "binary"] = "raw"

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> ItemKnnModel:
        """Find every item's neighbours, then turn the matrix round: scoring walks from source to target."""
        require_rows(train, self.name)
        binary = self.values == "binary"
        items = Sparse.of_rows(train.by_item, binary)
        near = nearest_rows(items, train.n_users, self.k, self.asymmetry, self.shrink, progress)
        votes = Sparse.of(near.start, near.column, near.value**self.power)
        return ItemKnnModel(train, Sparse.of_rows(train.by_user, binary), votes.transpose(train.n_items))
