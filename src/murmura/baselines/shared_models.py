"""What models of one kind share: of user and item vectors, and of sums over a person's own items.

Vectors answer p_u . q_i + b_i. EASE and Item-kNN sum what each own item adds.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.baselines.base import RankingModel, popularity
from murmura.baselines.information import InformedModel
from murmura.core.arrays import Floats, Ints, Longs, Singles
from murmura.core.model import ScoreTerms
from murmura.core.rng import Purpose, Rng, server_secret


@dataclass(frozen=True, eq=False)
class FactorModel(RankingModel):
    """One vector per user, one vector and one bias per item, and the settings they were learned with."""

    P: Singles  # (users, factors)
    Q: Singles  # (items, factors)
    b: Singles  # (items,)
    method: Any
    learned: ClassVar[tuple[str, ...]] = ("P", "Q", "b")

    def score(self, users: Ints) -> Singles:
        """score(u, i) = p_u . q_i + b_i, in one matrix product: the bias is one more factor of weight 1."""
        one = np.ones((len(users), 1), np.float32)
        scores: Singles = np.hstack([self.P[users], one]) @ self._with_bias
        return scores

    @cached_property
    def _with_bias(self) -> Singles:
        return np.ascontiguousarray(np.hstack([self.Q, self.b[:, None]]).T)  # (factors + 1, items)

    def score_history(self, items: Ints) -> Singles:
        """The same with a vector found for the given items, the item vectors held; popularity for none."""
        own = np.unique(items).astype(np.int32)
        if not len(own):
            return popularity(self.train)
        scores: Singles = self.Q @ self.fold_in(own) + self.b
        return scores

    @abstractmethod
    def fold_in(self, own: Ints) -> Singles:
        """The vector of someone new who likes `own` (ascending, at least one): (factors,)."""

    @property
    def item_vectors(self) -> Singles:
        """q_i."""
        return self.Q


def normal_tables(seed: int, std: float, *shapes: tuple[int, ...]) -> list[Singles]:
    """Tables of independent normals, one after the other from the stream a seed has for first models."""
    stream = Rng(server_secret(seed)).stream(Purpose.INIT)
    return [(std * stream.normals(int(np.prod(shape)))).reshape(shape).astype(np.float32) for shape in shapes]


class OwnItemTerms(InformedModel):
    """score(u, i) = sum over her items j of x_uj w_ji."""

    @abstractmethod
    def weights_of(self, own: Ints) -> Floats:
        """The rows w_j of some items: (own, items)."""

    def terms(self, user: int) -> ScoreTerms | None:
        """x_uj w_ji for each of her items j."""
        mine = slice(self.history.start[user], self.history.start[user + 1])
        return self._terms(self.history.column[mine], self.history.value[mine])

    def terms_history(self, items: Ints, time: Longs | None = None) -> ScoreTerms | None:
        """The same for the given items, each with x = 1, or less the older it is."""
        return self._terms(*self.weighted_history(items, time))

    def _terms(self, own: NDArray[Any], x: Floats) -> ScoreTerms | None:
        if not len(own):
            return ScoreTerms.of_popularity(self.counts)
        if self.method.discount:
            return None
        codes: Ints = own.astype(np.int32)
        weights: Floats = x[:, None] * self.weights_of(codes)
        return ScoreTerms.of_items(codes, self.train.items.labels, weights)
