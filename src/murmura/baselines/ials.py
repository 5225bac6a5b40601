"""Hu, Koren and Volinsky: Collaborative filtering for implicit feedback datasets (ICDM 2008).

`nu` scales the ridge by frequency (Rendle, Krichene, Zhang and Koren: Revisiting the performance of iALS on
item recommendation benchmarks RecSys 2022); nu = 0 is the ridge of the first paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.baselines.base import EpochBaseline
from murmura.baselines.shared_models import FactorModel, normal_tables
from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.settings import Count, Fraction, Positive, settings
from murmura.kernels.factorisation.als import solve_rows
from murmura.kernels.sparse import Sparse


@dataclass(frozen=True, eq=False)
class IalsModel(FactorModel):
    """p_u solves the history of u given Q exactly, for a newcomer as for a user of the training part."""

    def fold_in(self, own: Ints) -> Singles:
        """Equation 4 for one more user."""
        history = Sparse.of(np.array([0, len(own)]), own, np.ones(len(own)))
        found: Singles = self.method.solve(history, self.Q.astype(np.float64))[0].astype(np.float32)
        return found


@settings
class Ials(EpochBaseline[IalsModel]):
    """Least squares on every cell: confidence 1 + alpha x on target 1 where x > 0, 1 on target 0 elsewhere.

    The ridge of a row whose confidences sum to s is reg * s^nu.
    """

    name = "ials"
    model = IalsModel

    factors: Count = 64  # length of the vectors
    alpha: Positive = 10.0  # extra confidence of a training row
    reg: Positive = 10.0  # the ridge
    nu: Fraction = 0.0  # how the ridge grows with the confidences of a row
    epochs: Count = 15  # items, then users, once each
    values: Literal["raw", "binary"] = "binary"  # the values as they come, or 1 for every row

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse values that cannot be confidences as well."""
        super().check(train, seed)
        if self.values == "raw" and (train.value <= 0).any():
            raise SettingError(
                f"ials.values 'raw' needs values above 0, but one is {train.value.min():g}; use 'binary'."
            )

    def training(self, train: Interactions, seed: int) -> Iterator[IalsModel]:
        """Alternate: all items given the users, then all users given the items."""
        users = Sparse.of_rows(train.by_user, self.values == "binary")
        items = Sparse.of_rows(train.by_item, self.values == "binary")
        (first,) = normal_tables(seed, 0.1, (train.n_users, self.factors))
        P: Floats = first.astype(np.float64)
        P[train.user_counts == 0] = 0
        for _ in range(self.epochs):
            Q = self.solve(items, P)
            P = self.solve(users, Q)
            b = np.zeros(train.n_items, np.float32)
            yield IalsModel(train, P.astype(np.float32), Q.astype(np.float32), b, self)

    def solve(self, rows: Sparse, Y: Floats) -> Floats:
        """Every row's vector given the vectors Y of the other side."""
        row = np.repeat(np.arange(len(rows.start) - 1), np.diff(rows.start))
        confidence = self.alpha * np.bincount(row, rows.value, minlength=len(rows.start) - 1) + len(Y)
        ridge: Floats = (self.reg * confidence**self.nu).astype(np.float64)
        with threadpool_limits(1, "blas"):  # the result does not depend on the machine's cores
            return solve_rows(rows, self.alpha, ridge, Y)
