"""He, Liao, Zhang, Nie, Hu and Chua: Neural collaborative filtering (WWW 2017), NeuMF.

The network is trained with torch (`murmura.neural.neumf` has the formulas); it answers in numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field

from murmura.baselines.base import Arrays, Baseline, Model, Watch, popularity, require_rows
from murmura.core.arrays import Floats, Ints, Singles
from murmura.core.interactions import Interactions
from murmura.core.progress import SILENT, Progress
from murmura.core.settings import settings
from murmura.neural import require_torch
from murmura.neural.histories import Histories
from murmura.neural.tower import Tower

FOLD_IN = 10  # steps of L-BFGS towards a stranger's vectors


@dataclass(frozen=True, eq=False)
class NeuMfModel(Model):
    """Two vectors per user, two per item, and the tower over one pair of them."""

    histories: Histories
    network: Arrays
    negatives: int

    def score(self, users: Ints) -> Singles:
        """The score of every item, one user after the other; -inf where training had no row of the item."""
        return self._spread(
            [
                self._tower.score(self.network["user_gmf"][u], self.network["user_mlp"][u])
                for u in users.tolist()
            ]
        )

    def score_history(self, items: Ints) -> Singles:
        """Vectors for the history, found by a few steps from the average user; popularity when it is empty.

        The items stay as they are. The loss is that of training, with the expectation over all the negatives
        that could be drawn in place of those drawn: nothing is left to chance.
        """
        own = np.flatnonzero(np.isin(self.histories.item, items))
        if not len(own):
            return popularity(self.train)
        wanted: Singles = np.zeros(len(self.histories.item), np.float32)
        wanted[own] = 1
        per_negative = self.negatives / max(1, len(wanted) - len(own))
        weight = np.where(wanted > 0, 1 / len(own), per_negative).astype(np.float32)
        scores: Singles = self._spread([self._tower.score(*self._fold_in(wanted, weight))])[0]
        return scores

    def _fold_in(self, wanted: Singles, weight: Singles) -> tuple[Singles, Singles]:
        from scipy.optimize import minimize

        trained = self.histories.lengths > 0
        gmf, mlp = (self.network[name][trained].mean(0) for name in ("user_gmf", "user_mlp"))

        def loss(both: Floats) -> tuple[float, Floats]:
            now = both.astype(np.float32)
            value, by_gmf, by_mlp = self._tower.loss(now[: len(gmf)], now[len(gmf) :], wanted, weight)
            return value, np.concatenate([by_gmf, by_mlp]).astype(np.float64)

        start = np.concatenate([gmf, mlp]).astype(np.float64)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": FOLD_IN}).x
        return found[: len(gmf)].astype(np.float32), found[len(gmf) :].astype(np.float32)

    @cached_property
    def _tower(self) -> Tower:
        return Tower.of(self.network)

    def _spread(self, rows: list[Singles]) -> Singles:
        """From trained items to the whole catalogue."""
        scores = np.full((len(rows), self.train.n_items), -np.inf, np.float32)
        if rows:
            scores[:, self.histories.item] = np.stack(rows)
        return scores

    def arrays(self) -> Arrays:
        """Embeddings, tower and output."""
        return self.network

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From the parameters."""
        return cls(train, Histories.of(train), arrays, method.negatives)


@settings
class NeuMf(Baseline):
    """A factorisation and a tower of layers, trained side by side on positives and drawn negatives.

    `layers` are the widths of the tower: the first, even, is that of the user's and the item's embedding put
    together. `batch` counts positives, each with `negatives` items the user has not met in training.
    """

    name = "neumf"
    model = NeuMfModel
    extra: ClassVar[str | None] = "neural"

    factors: Annotated[int, Field(ge=1)] = 16
    layers: Annotated[str, Field(pattern="^([2468]|[1-9][0-9]*[02468])(-[1-9][0-9]*)+$")] = "64-32-16"
    negatives: Annotated[int, Field(ge=1)] = 4
    epochs: Annotated[int, Field(ge=1)] = 20
    batch: Annotated[int, Field(ge=1)] = 1024
    learning_rate: Annotated[float, Field(gt=0)] = 0.001
    l2: Annotated[float, Field(ge=0)] = 0.0

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> NeuMfModel:
        """Train the network on one thread; needs the extra `neural`."""
        require_torch(self.name)
        require_rows(train, self.name)
        from murmura.neural import neumf
        from murmura.neural.training import Schedule

        histories = Histories.of(train)

        def seen(epoch: int, network: Arrays) -> bool:
            return watch is None or watch(epoch, NeuMfModel(train, histories, network, self.negatives))

        network = neumf.train(
            histories,
            self.factors,
            tuple(map(int, self.layers.split("-"))),
            self.negatives,
            Schedule(self.epochs, self.batch, self.learning_rate, self.l2),
            seed,
            progress,
            None if watch is None else seen,
        )
        return NeuMfModel(train, histories, network, self.negatives)
