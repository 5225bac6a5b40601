"""The one interface of the centralised methods: settings that can be fitted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints, Longs, Singles
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions, RowIndex, latest_each
from murmura.core.model import Among, Method, Model, RankedLists
from murmura.neural import require_torch

Pairs = tuple[Ints, Ints]  # users and items, side by side


@dataclass(frozen=True, eq=False)
class RankingModel(Model):
    """A model whose lists are the items with the highest scores, ranked by a compiled loop."""

    def recommend(self, users: Ints, k: int = 10, workers: int = 1, among: Among | None = None) -> RankedLists:
        """The k best items a known user has not interacted with; ties go to the lower item id.

        A user without a training row is answered like an empty history. `among` marks the items that may be
        recommended, or has those of each user, of which the candidates are; None: the candidates.
        """
        from murmura.kernels.ranking import rank

        if isinstance(among, RowIndex):
            own = among
            return rank(
                lambda block: only_own(self.answer(block), block, own),
                users, k, self.train.by_user, self.candidates, workers,
            )  # fmt: skip
        allowed = self.candidates if among is None else among
        return rank(self.answer, users, k, self.train.by_user, allowed, workers)

    def recommend_history(self, items: Ints, k: int = 10, time: Longs | None = None) -> RankedLists:
        """The k best items for someone unknown, her own items excluded; `time` says when she had each."""
        from murmura.kernels.ranking import rank

        given, when = latest_each(items, time)
        own = given.astype(np.int32)
        seen = RowIndex(np.array([0, len(own)]), own, np.ones(len(own)), np.arange(len(own)))
        scores = self.score_history(own) if when is None else self.score_timed_history(own, when)
        return rank(lambda _: scores[None, :].copy(), np.zeros(1, np.int32), k, seen, self.candidates)

    def score_timed_history(self, items: Ints, time: Longs) -> NDArray[Any]:
        """The scores for someone unknown who had each item at a time, of which most models make no use."""
        return self.score_history(items)


def only_own(scores: NDArray[Any], users: Ints, own: RowIndex) -> NDArray[Any]:
    """The scores of each user's own items; all others are -inf, which is never recommended."""
    kept = np.full_like(scores, -np.inf)
    for row, user in enumerate(users.tolist()):
        items = own.of(user)
        kept[row, items] = scores[row, items]
    return kept


class Baseline(Method):
    """A centralised method: a frozen set of hyper-parameters that can be fitted."""

    name: ClassVar[str]
    model: ClassVar[type[Model]]
    seeded: ClassVar[bool] = True  # False: the seed changes nothing, one run is enough
    extra: ClassVar[str | None] = None  # the optional part of Murmura that `fit` needs

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse data it cannot learn from, before anything is written: samples with labels, by default.

        Refuses to begin without the optional part it needs, too.
        """
        if self.extra == "neural":
            require_torch(self.name)
        if train.samples is not None:
            raise DataError(
                f"{self.name} learns from interactions, but this data has samples with labels; take a method "
                "that classifies, or other data."
            )

    def save(self, path: Path, model: Model) -> None:
        """Keep a fitted model as one file, complete or not at all; its training part stays with the data."""
        from murmura.baselines.persistence import save_model

        save_model(path, self, model, rows=False)

    def load(self, path: Path, train: Interactions) -> Model:
        """The model a file keeps, with the training part it was fitted on."""
        from murmura.baselines.persistence import load_model

        return load_model(path, train)[1]


def popularity(train: Interactions) -> Singles:
    """What someone is shown of whom nothing is known: the number of training rows of each item."""
    return train.item_counts.astype(np.float32)


def require_rows(train: Interactions, name: str) -> None:
    """Refuse to learn from nothing."""
    if not len(train):
        raise SettingError(f"{name} needs at least one training row, but the training part is empty.")
