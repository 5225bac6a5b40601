"""Hu, Koren and Volinsky: Collaborative filtering for implicit feedback datasets (ICDM 2008).

`nu` scales the ridge by frequency (Rendle, Krichene, Zhang and Koren: Revisiting the performance of iALS on
item recommendation benchmarks RecSys 2022); nu = 0 is the ridge of the first paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.baselines.base import EpochBaseline
from murmura.baselines.information import InformedBaseline, InformedModel
from murmura.baselines.shared_models import FactorModel, normal_tables
from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.settings import Count, Fraction, NonNegative, Positive, settings
from murmura.kernels.factorisation.als import solve_rows
from murmura.kernels.sparse import Sparse


@dataclass(frozen=True, eq=False)
class IalsModel(InformedModel, FactorModel):
    """p_u solves the history of u given Q exactly, for a newcomer as for a user of the training part."""

    learned = ("P", "Q", "b")

    def score_rows(self, users: Ints, history: Sparse) -> Singles:
        """p_u . q_i; of someone new p_u is equation 4 for one more user."""
        if history is self.history:
            known: Singles = FactorModel.score(self, users)
            return known
        scores: Singles = self._vectors(history) @ self.Q.T
        return scores

    def fold_in(self, own: Ints) -> Singles:
        """The vector of someone new, all of whose items are alike."""
        found: Singles = self._vectors(Sparse.of(np.array([0, len(own)]), own, np.ones(len(own))))[0]
        return found

    def _vectors(self, history: Sparse) -> Singles:
        Y = self.Q.astype(np.float64)
        found: Singles = self.method.solve(self.method.personal(history), Y).astype(np.float32)
        return found

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the vectors."""
        return cls(train=train, history=method.histories(train)[0], method=method, **arrays)


@settings
class Ials(InformedBaseline, EpochBaseline[IalsModel]):
    """Least squares on every cell: confidence 1 + alpha x on target 1 where x > 0, 1 on target 0 elsewhere.

    The ridge of a row whose confidences sum to s is reg * s^nu. Recency and the weight of a person are in x.
    """

    name = "ials"
    model = IalsModel

    factors: Count = 64  # length of the vectors
    alpha: Positive = 10.0  # extra confidence of a training row
    reg: Positive = 10.0  # the ridge
    nu: Fraction = 0.0  # how the ridge grows with the confidences of a row
    epochs: Count = 15  # items, then users, once each
    values: Literal["raw", "binary"] = "binary"  # the values as they come, or 1 for every row
    features: NonNegative = 0.0  # confidence of an item's public features, each of which is one more user

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse values that cannot be confidences as well."""
        super().check(train, seed)
        if self.values == "raw" and (train.value <= 0).any():
            raise SettingError(
                f"ials.values 'raw' needs values above 0, but one is {train.value.min():g}; use 'binary'."
            )

    def histories(self, train: Interactions) -> tuple[Sparse, Sparse]:
        """What each item counts for each person, and what is learned from: features are further rows."""
        used = self.used(train)
        ranked = self.ranked(used, Sparse.of_rows(used.by_user, self.values == "binary"))
        return ranked, self.with_features(self.personal(ranked), train, self.features**2)

    def training(self, train: Interactions, seed: int) -> Iterator[IalsModel]:
        """Alternate: all items given the users, then all users given the items."""
        history, users = self.histories(train)
        items, entries = users.transpose(train.n_items), np.diff(users.start)
        (first,) = normal_tables(seed, 0.1, (len(entries), self.factors))
        P: Floats = first.astype(np.float64)
        P[entries == 0] = 0
        for _ in range(self.epochs):
            Q = self.solve(items, P)
            P = self.solve(users, Q)
            b, people = np.zeros(train.n_items, np.float32), P[: train.n_users].astype(np.float32)
            yield IalsModel(train=train, P=people, Q=Q.astype(np.float32), b=b, method=self, history=history)

    def solve(self, rows: Sparse, Y: Floats) -> Floats:
        """Every row's vector given the vectors Y of the other side."""
        row = np.repeat(np.arange(len(rows.start) - 1), np.diff(rows.start))
        confidence = self.alpha * np.bincount(row, rows.value, minlength=len(rows.start) - 1) + len(Y)
        ridge: Floats = (self.reg * confidence**self.nu).astype(np.float64)
        with threadpool_limits(1, "blas"):  # the result does not depend on the machine's cores
            return solve_rows(rows, self.alpha, ridge, Y)
