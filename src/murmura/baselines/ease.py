"""Steck: Embarrassingly shallow autoencoders for sparse data (WWW 2019).

The item-item weights B with zero diagonal that best rebuild X from X B under a ridge are closed-form:
P = (X'X + reg I)^-1,  B_ij = -P_ij / P_jj for i != j,  so that  X B = X - (X P) / diag(P).
With fewer users than items the same model is solved on the users' side, by the push-through identity:
K = (X X' + reg I)^-1,  X P = K X,  P = (I - X'K X) / reg; no items x items matrix is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.baselines.base import Baseline, popularity
from murmura.baselines.shared_models import OwnItemTerms
from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.errors import MemoryLimitError
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays
from murmura.core.progress import Progress
from murmura.core.settings import Positive, settings
from murmura.kernels.item_weights import ease_weights, inverse
from murmura.kernels.sparse import Sparse, dense_times_sparse, gram, sparse_times_dense

USERS_AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class EaseModel(OwnItemTerms):
    """Solved on the items' side `weights` is B; on the users' side it is K, and `diagonal` is diag(P)."""

    history: Sparse  # (users, items)
    weights: Singles  # B (items, items), or K (users, users)
    diagonal: Singles | None  # None: B; else (items,) diag(P)
    reg: float

    def score(self, users: Ints) -> Singles:
        """The rows of X B."""
        out = self._nothing(len(users))
        if self.diagonal is None:
            sparse_times_dense(np.ascontiguousarray(users, np.int32), self.history, self.weights, out)
            return out
        dense_times_sparse(self.weights[users], self.history, out)
        out /= -self.diagonal
        for row, user in enumerate(users):
            mine = slice(self.history.start[user], self.history.start[user + 1])
            out[row, self.history.column[mine]] += self.history.value[mine]
        return out

    def score_history(self, items: Ints) -> Singles:
        """h B for the history h of someone new, as for a user of the training part; popularity if empty."""
        own = np.unique(items)
        if not len(own):
            return popularity(self.train)
        if self.diagonal is None:
            return np.asarray(self.weights[own].sum(axis=0), np.float32)
        user = np.repeat(np.arange(self.train.n_users), np.diff(self.history.start))
        mine = np.isin(self.history.column, own)
        shared = np.bincount(user[mine], self.history.value[mine], minlength=self.train.n_users)  # h X'
        out = self._nothing(1)
        dense_times_sparse((shared @ self.weights)[None, :].astype(np.float32), self.history, out)
        h = self._nothing(1)
        h[0, own] = 1
        scores: Singles = (h - (h - out) / (np.float32(self.reg) * self.diagonal))[0]
        return scores

    def weights_of(self, own: Ints) -> Floats:
        """The rows of B that belong to some items; on the users' side they are made for these alone."""
        if self.diagonal is None:
            return self.weights[own].astype(np.float64)
        user = np.repeat(np.arange(self.train.n_users), np.diff(self.history.start))
        mine = np.flatnonzero(np.isin(self.history.column, own))
        X = np.zeros((len(own), self.train.n_users))  # of the own items: X'
        X[np.searchsorted(own, self.history.column[mine]), user[mine]] = self.history.value[mine]
        B = np.zeros((len(own), self.train.n_items))
        dense_times_sparse(X @ self.weights.astype(np.float64), self.history, B)
        B /= self.reg * self.diagonal.astype(np.float64)  # P_ji = -(X'K X)_ji / reg for i != j
        B[np.arange(len(own)), own] = 0
        return B

    def arrays(self) -> Arrays:
        """The solved side, and x."""
        found: Arrays = {"weights": self.weights, "history": self.history.value}
        return found if self.diagonal is None else found | {"diagonal": self.diagonal}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the solved side."""
        history = Sparse.of(train.by_user.start, train.by_user.index, arrays["history"])
        return cls(train, history, arrays["weights"], arrays.get("diagonal"), method.reg)

    def _nothing(self, rows: int) -> Singles:
        return np.zeros((rows, self.train.n_items), np.float32)


@settings
class Ease(Baseline):
    """A linear item-item model, solved exactly on the smaller side of users and items."""

    name = "ease"
    model = EaseModel
    seeded = False

    reg: Positive = 500.0  # the ridge
    values: Literal["raw", "binary"] = "binary"  # the values as they come, or 1 for every row
    memory_gb: Positive = 8.0  # a table that would need more is refused

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse a table that would not fit as well."""
        super().check(train, seed)
        self._refuse_too_large(min(train.n_users, train.n_items))

    def learn(self, train: Interactions, seed: int, progress: Progress) -> EaseModel:
        """Invert one symmetric matrix, on one thread: the result does not depend on the machine's cores."""
        users = Sparse.of_rows(train.by_user, self.values == "binary")
        items = Sparse.of_rows(train.by_item, self.values == "binary")
        progress.begin("solving", 1)
        with threadpool_limits(1, "blas"):
            model = self._on_users(train, users, items) if train.n_users < train.n_items else None
            model = model or self._on_items(train, users, items)
        progress.advance()
        progress.end()
        return model

    def _on_items(self, train: Interactions, users: Sparse, items: Sparse) -> EaseModel:
        return EaseModel(train, users, ease_weights(gram(items, users), self.reg), None, self.reg)

    def _on_users(self, train: Interactions, users: Sparse, items: Sparse) -> EaseModel:
        K = inverse(gram(users, items), self.reg)
        explained = np.zeros(train.n_items)  # diag(X'K X)
        for first in range(0, train.n_users, USERS_AT_ONCE):
            block = slice(first, first + USERS_AT_ONCE)
            KX = np.zeros((len(K[block]), train.n_items))
            dense_times_sparse(K[block], users, KX)
            mine = slice(users.start[first], users.start[first + len(KX)])
            row = np.repeat(np.arange(len(KX)), np.diff(users.start[first : first + len(KX) + 1]))
            column = users.column[mine]
            explained += np.bincount(column, users.value[mine] * KX[row, column], minlength=train.n_items)
        diagonal = ((1 - explained) / self.reg).astype(np.float32)
        return EaseModel(train, users, K.astype(np.float32), diagonal, self.reg)

    def _refuse_too_large(self, side: int) -> None:
        needed = 12 * side**2 / 1e9  # one table in float64, solved in place, and one in float32 to keep
        if needed > self.memory_gb:
            raise MemoryLimitError(
                f"ease.memory_gb must be at least {needed:.1f} for a table of {side} x {side} (the smaller of "
                f"users and items), but it is {self.memory_gb:g}; raise it, or choose another model."
            )
