"""The one interface of the centralised methods: settings that fit, and a model that answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Ints, Singles
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions, Rows
from murmura.core.lists import Lists
from murmura.core.progress import SILENT, Progress

Arrays = dict[str, NDArray[Any]]
Pairs = tuple[Ints, Ints]  # users and items, side by side
Watch = Callable[[int, "Model"], bool]  # (epochs done, the model so far) -> go on?


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """A fitted recommender: it scores every item for a known user, or for a history it has never met."""

    train: Interactions

    @abstractmethod
    def score(self, users: Ints) -> NDArray[Any]:
        """The scores of all items for known users: (users, items), a fresh block the caller may overwrite."""

    @abstractmethod
    def score_history(self, items: Ints) -> NDArray[Any]:
        """The scores of all items for someone unknown who likes `items` (fold-in, or popularity): (items,)."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Everything the model learned, as arrays; `restore` takes it back."""

    @classmethod
    @abstractmethod
    def restore(cls, train: Interactions, arrays: Arrays, method: Any) -> Self:
        """The model that `arrays` came from; `method` is the baseline that was fitted."""

    @property
    def candidates(self) -> Bools:
        """Which items may be recommended: those that occur in training."""
        return self.train.item_counts > 0

    def recommend(self, users: Ints, k: int = 10, workers: int = 1) -> Lists:
        """The k best items a known user has not interacted with; ties go to the lower item id.

        A user without a training row is answered like an empty history.
        """
        from murmura.kernels.ranking import rank

        return rank(self._answer, users, k, self.train.by_user, self.candidates, workers)

    def recommend_history(self, items: Ints, k: int = 10) -> Lists:
        """The k best items for someone unknown, her own items excluded."""
        from murmura.kernels.ranking import rank

        own = np.unique(np.asarray(items, np.int32))
        seen = Rows(np.array([0, len(own)]), own, np.ones(len(own)), np.arange(len(own)))
        return rank(
            lambda _: self.score_history(own)[None, :].copy(), np.zeros(1, np.int32), k, seen, self.candidates
        )

    def recommend_ids(self, users: Iterable[Any], k: int = 10) -> dict[Any, list[Any]]:
        """The same with own ids in and out; a user never met is answered like an empty history."""
        wanted = list(users)
        codes = self.train.users.find(wanted)
        known = self.recommend(np.maximum(codes, 0), k).item
        stranger = self.recommend_history(np.zeros(0, np.int32), k).item[0]
        labels = self.train.items.labels
        rows = (row if code >= 0 else stranger for code, row in zip(codes, known))
        return {who: labels[row[row >= 0]].tolist() for who, row in zip(wanted, rows)}

    def _answer(self, users: Ints) -> NDArray[Any]:
        """The scores of a block, with those of an empty history for users without a row."""
        scores = self.score(users)
        without = self.train.user_counts[users] == 0
        if without.any():
            scores[without] = self.score_history(np.zeros(0, np.int32))
        return scores


class Baseline(ABC):
    """A centralised method: a frozen set of hyper-parameters that can be fitted."""

    name: ClassVar[str]
    model: ClassVar[type[Model]]
    seeded: ClassVar[bool] = True  # False: the seed changes nothing, one run is enough
    extra: ClassVar[str | None] = None  # the optional part of Murmura that `fit` needs

    @abstractmethod
    def fit(
        self, train: Interactions, seed: int = 0, progress: Progress = SILENT, watch: Watch | None = None
    ) -> Model:
        """Learn from the training part. Methods that learn in epochs call `watch` after each."""

    def drawn_negatives(self, train: Interactions, seed: int, epoch: int) -> Pairs | None:
        """The (user, item) pairs `fit` takes as negatives in an epoch, each unmet item equally likely.

        None: this method draws none. The check for leaks counts how many of them are held out.
        """
        return None


def popularity(train: Interactions) -> Singles:
    """What someone is shown of whom nothing is known: the number of training rows of each item."""
    return train.item_counts.astype(np.float32)


def require_rows(train: Interactions, name: str) -> None:
    """Refuse to learn from nothing."""
    if not len(train):
        raise SettingError(f"{name} needs at least one training row, but the training part is empty.")
