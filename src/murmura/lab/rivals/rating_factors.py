"""Ratings from vectors: mu + b_u + b_i + q_i . p_u (Ferrara's thesis, equation 2.4), and SVD++.

Koren: Factorization meets the neighborhood (KDD 2008): equation 2, and equation 15, where what someone rated at
all speaks beside how she rated it. Both learn by stochastic gradient steps, users in a new order every epoch;
`loops` has the steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from murmura.baselines.base import EpochBaseline
from murmura.baselines.shared_models import normal_tables
from murmura.core.arrays import Floats, Ints
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.rng import Purpose, server_secret
from murmura.core.settings import Count, NonNegative, Positive, settings
from murmura.kernels.philox import permute
from murmura.kernels.sparse import Sparse, sparse_times_dense
from murmura.lab.rivals.loops import RatingRates, RatingTables, visit_users
from murmura.lab.rivals.rating_models import RatingModel

INIT_STD = 0.1


@dataclass(frozen=True, eq=False)
class RatingFactorModel(RatingModel):
    """Vectors and biases of users and items."""

    tables: RatingTables
    method: RatingFactors

    @cached_property
    def users(self) -> Floats:
        """z_u: everyone's vector, with what the items she rated add to it: (users, factors)."""
        everyone = np.arange(self.train.n_users, dtype=np.int32)
        return self.tables.P + implicit_part(Sparse.of_rows(self.train.by_user), everyone, self.tables.Y)

    @property
    def item_vectors(self) -> Floats:
        """q_i."""
        return self.tables.Q

    def predict(self, users: Ints, items: Ints) -> Floats:
        """The rating of each pair of a known user and an item."""
        _, Q, c, b, _, mu = self.tables
        found: Floats = np.einsum("nf,nf->n", self.users[users], Q[items])
        found += mu + c[users] + b[items]
        return found

    def score(self, users: Ints) -> Floats:
        """The predicted ratings of all items."""
        _, Q, c, b, _, mu = self.tables
        scores: Floats = self.users[users] @ Q.T
        scores += (mu + c[users])[:, None] + b
        return scores

    def predict_history(self, items: Ints, values: Floats) -> Floats:
        """From 0, as many passes as training had, the items held still."""
        own = Sparse.of(np.array([0, len(items)]), items, values)
        one = self.tables._replace(P=np.zeros((1, self.method.factors)), c=np.zeros(1))
        rates = self.method.rates._replace(item=0.0)
        for _ in range(self.method.epochs):
            visit_users(np.zeros(1, np.int64), own, one, rates)
        z = one.P[0] + implicit_part(own, np.zeros(1, np.int32), one.Y)[0]
        ratings: Floats = one.Q @ z + (one.mu + one.c[0] + one.b)
        return ratings

    def arrays(self) -> Arrays:
        """Vectors, biases and the mean."""
        return {**self.tables._asdict(), "mu": np.array(self.tables.mu)}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From vectors, biases and the mean."""
        P, Q, c, b, Y = (arrays[name] for name in RatingTables._fields[:-1])
        return cls(train, RatingTables(P, Q, c, b, Y, float(arrays["mu"])), method)


def implicit_part(ratings: Sparse, users: Ints, Y: Floats) -> Floats:
    """|I_u|^(-1/2) sum of y_j over the items of some users; zeros without any y: (users, factors)."""
    total = np.zeros((len(users), Y.shape[1]))
    if len(Y):
        sparse_times_dense(users, ratings._replace(value=np.ones(len(ratings.value))), Y, total)
        n = np.maximum(ratings.start[users + 1] - ratings.start[users], 1)
        total /= np.sqrt(n)[:, None]
    return total


@settings
class RatingFactors(EpochBaseline[RatingFactorModel]):
    """Gradient steps on squared errors of ratings."""

    model = RatingFactorModel
    implicit: ClassVar[bool] = False  # whether the items someone rated have vectors y of their own

    factors: Count = 20  # length of the vectors
    alpha: Positive = 0.005  # learning rate
    reg: NonNegative = 0.1  # decay of vectors
    reg_bias: NonNegative = 0.01  # decay of biases
    epochs: Count = 80  # every rating once

    @property
    def rates(self) -> RatingRates:
        """The steps of training."""
        return RatingRates(self.alpha, self.alpha, self.reg, self.reg_bias)

    def training(self, train: Interactions, seed: int) -> Iterator[RatingFactorModel]:
        """Visits to every user."""
        ratings, server = Sparse.of_rows(train.by_user), server_secret(seed)
        tables, order = self._begin(train, seed), np.arange(train.n_users)
        for epoch in range(1, self.epochs + 1):
            permute(order, server, np.uint64(epoch), np.uint64(Purpose.SELECT), np.uint64(0))
            visit_users(order, ratings, tables, self.rates)
            self._refuse_overflow(tables)
            yield RatingFactorModel(train, tables, self)

    def _begin(self, train: Interactions, seed: int) -> RatingTables:
        n, m = train.n_users, train.n_items
        shapes = [(rows, self.factors) for rows in (n, m, m if self.implicit else 0)]
        P, Q, Y = (one.astype(np.float64) for one in normal_tables(seed, INIT_STD, *shapes))
        return RatingTables(P, Q, np.zeros(n), np.zeros(m), Y, float(train.value.mean()))

    def _refuse_overflow(self, tables: RatingTables) -> None:
        if not (np.isfinite(tables.Q).all() and np.isfinite(tables.P).all()):
            raise SettingError(
                f"{self.name}.alpha must be small enough for vectors to stay finite, but steps of "
                f"{self.alpha:g} took one beyond all bounds; lower it."
            )


@settings
class BiasedMf(RatingFactors):
    """Equation 2.4: mu + b_u + b_i + q_i . p_u."""

    name = "biased-mf"


@settings
class SvdPlusPlus(RatingFactors):
    """The same, and everything someone rated adds to her vector, however she rated it."""

    name = "svd++"
    implicit = True
