"""Steck: Embarrassingly shallow autoencoders for sparse data (WWW 2019).

The item-item weights B with zero diagonal that best rebuild X from X B under a ridge are closed-form:
P = (X'X + reg I)^-1,  B_ij = -P_ij / P_jj for i != j,  so that  X B = X - (X P) / diag(P).
With fewer users than items the same model is solved on the users' side, by the push-through identity:
K = (X X' + reg I)^-1,  X P = K X,  P = (I - X'K X) / reg; no items x items matrix is ever made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.baselines.information import InformedBaseline
from murmura.baselines.shared_models import OwnItemTerms
from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.errors import MemoryLimitError
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.settings import NonNegative, Positive, settings
from murmura.kernels.item_weights import ease_weights, inverse
from murmura.kernels.sparse import (
    Sparse,
    dense_times_sparse,
    gram,
    product_rows,
    sparse_times_dense,
)

ROWS_AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class EaseModel(OwnItemTerms):
    """Solved on the items' side `weights` is B; on the users' side it is K, and `diagonal` is diag(P)."""

    learned_from: Sparse  # (rows, items) X: of people, and one for each feature that counts
    weights: Singles  # B (items, items), or K (rows, rows)
    diagonal: Singles | None  # None: B; else (items,) diag(P)
    reg: float

    def score_rows(self, users: Ints, history: Sparse) -> Singles:
        """h B for rows h of a history; on the users' side h B = h - (h - h X'K X) / (reg diag P)."""
        out = np.zeros((len(users), self.train.n_items), np.float32)
        if self.diagonal is None:
            sparse_times_dense(np.ascontiguousarray(users, np.int32), history, self.weights, out)
            return out
        if history is self.learned_from:  # X X'K = I - reg K: fewer sums
            dense_times_sparse(self.weights[users], history, out)
            out /= -self.diagonal
        else:
            shared = product_rows(users, history, self._by_item, len(self.weights))  # h X'
            dense_times_sparse(shared @ self.weights, self.learned_from, out)
            out /= np.float32(self.reg) * self.diagonal
        for row, user in enumerate(users.tolist()):
            mine = slice(history.start[user], history.start[user + 1])
            own, h = history.column[mine], history.value[mine].astype(np.float32)
            out[row, own] += h
            if history is not self.learned_from:
                assert self.diagonal is not None
                out[row, own] -= h / (np.float32(self.reg) * self.diagonal[own])
        return out

    @cached_property
    def _by_item(self) -> Sparse:
        return self.learned_from.transpose(self.train.n_items)

    def weights_of(self, own: Ints) -> Floats:
        """The rows of B that belong to some items; on the users' side they are made for these alone."""
        if self.diagonal is None:
            return self.weights[own].astype(np.float64)
        x = self.learned_from
        row = np.repeat(np.arange(len(x.start) - 1), np.diff(x.start))
        mine = np.flatnonzero(np.isin(x.column, own))
        X = np.zeros((len(own), len(x.start) - 1))  # of the own items: X'
        X[np.searchsorted(own, x.column[mine]), row[mine]] = x.value[mine]
        B = np.zeros((len(own), self.train.n_items))
        dense_times_sparse(X @ self.weights.astype(np.float64), x, B)
        B /= self.reg * self.diagonal.astype(np.float64)  # P_ji = -(X'K X)_ji / reg for i != j
        B[np.arange(len(own)), own] = 0
        return B

    def arrays(self) -> Arrays:
        """The solved side."""
        found: Arrays = {"weights": self.weights}
        return found if self.diagonal is None else found | {"diagonal": self.diagonal}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the solved side."""
        history, learned_from = method.histories(train)
        return cls(train, history, method, learned_from, arrays["weights"], arrays.get("diagonal"), method.reg)


@settings
class Ease(InformedBaseline):
    """A linear item-item model, solved exactly on the smaller side of users and items."""

    name = "ease"
    model = EaseModel
    seeded = False

    reg: Positive = 500.0  # the ridge
    values: Literal["raw", "binary"] = "binary"  # the values as they come, or 1 for every row
    features: NonNegative = 0.0  # so many times reg goes to what public features say of two items
    memory_gb: Positive = 8.0  # a table that would need more is refused

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse a table that would not fit as well."""
        super().check(train, seed)
        features = len(train.features) if self.features and train.features is not None else 0
        self._refuse_too_large(min(train.n_users + features, train.n_items))

    def histories(self, train: Interactions) -> tuple[Sparse, Sparse]:
        """What lists are ranked by, and what weights are learned from; one table where both are the same."""
        used = self.used(train)
        x = Sparse.of_rows(used.by_user, self.values == "binary")
        learned_from = self.personal(x, 0.5) if self.person_weight else x
        return self.ranked(used, x), self.with_features(learned_from, train, self.features * self.reg)

    def learn(self, train: Interactions, seed: int, progress: Progress) -> EaseModel:
        """Invert one symmetric matrix, on one thread: the result does not depend on the machine's cores."""
        history, rows = self.histories(train)
        items, n = rows.transpose(train.n_items), len(rows.start) - 1
        progress.begin("solving", 1)
        with threadpool_limits(1, "blas"):
            if n < train.n_items:
                solved: tuple[Singles, Singles | None] = self._on_users(rows, items)
            else:
                solved = ease_weights(gram(items, rows), self.reg), None
        progress.advance()
        progress.end()
        return EaseModel(train, history, self, rows, *solved, self.reg)

    def _on_users(self, rows: Sparse, items: Sparse) -> tuple[Singles, Singles]:
        K, n_items = inverse(gram(rows, items), self.reg), len(items.start) - 1
        explained = np.zeros(n_items)  # diag(X'K X)
        for first in range(0, len(K), ROWS_AT_ONCE):
            KX = np.zeros((len(K[first : first + ROWS_AT_ONCE]), n_items))
            dense_times_sparse(K[first : first + ROWS_AT_ONCE], rows, KX)
            mine = slice(rows.start[first], rows.start[first + len(KX)])
            row = np.repeat(np.arange(len(KX)), np.diff(rows.start[first : first + len(KX) + 1]))
            column = rows.column[mine]
            explained += np.bincount(column, rows.value[mine] * KX[row, column], minlength=n_items)
        return K.astype(np.float32), ((1 - explained) / self.reg).astype(np.float32)

    def _refuse_too_large(self, side: int) -> None:
        needed = 12 * side**2 / 1e9  # one table in float64, solved in place, and one in float32 to keep
        if needed > self.memory_gb:
            enough = math.ceil(10 * needed) / 10  # what is rounded down is refused again
            raise MemoryLimitError(
                f"ease.memory_gb must be at least {enough} for a table of {side} x {side} (the smaller of "
                f"users and items), but it is {self.memory_gb:g}; raise it, or choose another model."
            )
