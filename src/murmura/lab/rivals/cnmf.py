"""Collaborative NMF with biases: the centralised row of FedSPLIT's table 3 (equations 5 to 13).

W_i . H_j + b_W_i + b_H_j + mu estimates the rating of user i for item j; factors are not negative. How
the steps depart from the printed equations, and why, is said in `kernels.factorisation.cnmf_steps`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from murmura.baselines.base import Baseline, require_rows
from murmura.core.arrays import Floats, Ints
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.model import Arrays, Watch
from murmura.core.progress import SILENT, Progress
from murmura.core.rng import Purpose, Rng, server_secret
from murmura.core.settings import settings
from murmura.kernels.factorisation.cnmf_steps import (
    CnmfSettings,
    Factors,
    factorise,
    fit_users,
    predict,
    random_factors,
    words_needed,
)
from murmura.kernels.sparse import Sparse
from murmura.lab.rivals.rating_models import RatingModel

PIECE = 10  # passes between two reports of progress


@dataclass(frozen=True, eq=False)
class CnmfModel(RatingModel):
    """Predicts ratings; an item's score is the rating the user is expected to give."""

    factors: Factors
    mu: float
    method: Cnmf

    def predict(self, users: Ints, items: Ints) -> Floats:
        """Equation 7: the rating of each pair of a known user and an item, on the scale of the data."""
        return predict(self.factors, self.mu, users, items)

    def score(self, users: Ints) -> Floats:
        """The predicted ratings of all items."""
        W, H, b_w, b_h = self.factors
        scores: Floats = W[users] @ H.T
        scores += b_w[users, None] + (b_h + self.mu)
        return scores

    def predict_history(self, items: Ints, values: Floats) -> Floats:
        """The ratings someone unknown would give to all items, from those she gave: H, b_H and mu stay."""
        _, H, _, b_h = self.factors
        own = Sparse.of(np.array([0, len(items)]), items, values)
        W, b_w = fit_users(own, H, b_h, self.mu, self.method.rates)
        ratings: Floats = H @ W[0] + (float(b_w[0]) + b_h + self.mu)
        return ratings

    def arrays(self) -> Arrays:
        """Factors, biases and the mean."""
        return {**self.factors._asdict(), "mu": np.array(self.mu)}

    @classmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """From factors, biases and the mean."""
        return cls(train, Factors(*(arrays[name] for name in Factors._fields)), float(arrays["mu"]), method)


@settings
class Cnmf(CnmfSettings, Baseline):
    """Non-negative factors of the known ratings, with biases of users and items."""

    name = "cnmf"
    model = CnmfModel

    mean: float | None = None  # mu; None: the mean of the training ratings

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse ratings that no product of non-negative factors reaches as well."""
        super().check(train, seed)
        if len(train) and not train.value.min() > 0:
            raise DataError(f"cnmf needs ratings above 0, but one is {train.value.min():g}; shift the scale.")

    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> CnmfModel:
        """Pass over the ratings again and again."""
        require_rows(train, self.name)
        self.check(train, seed)
        n, m, k = train.n_users, train.n_items, self.factors
        words = Rng(server_secret(seed)).stream(Purpose.INIT).words(words_needed(n, m, k))
        mu = float(train.value.mean()) if self.mean is None else self.mean
        model = CnmfModel(train, random_factors(words, n, m, k), mu, self)
        ratings, piece = Sparse.of_rows(train.by_user), 1 if watch else PIECE
        errors = np.zeros(0)
        progress.begin("epochs", self.epochs)
        for done in range(0, self.epochs, piece):
            passes = min(piece, self.epochs - done)
            factors, met = factorise(ratings, model.factors, mu, self.rates, passes, before=errors)
            errors = np.concatenate((errors, met))
            model = CnmfModel(train, factors, mu, self)
            progress.advance(passes)
            if watch is not None and not watch(done + 1, model):
                break
        progress.end()
        return model
