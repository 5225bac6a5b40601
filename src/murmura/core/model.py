"""A fitted recommender, centralised or federated: every one is asked in the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.errors import SettingError
from murmura.core.grouping import TrainingGroups
from murmura.core.interactions import Interactions, RowIndex
from murmura.core.ranked_lists import RankedLists
from murmura.core.score_terms import ScoreTerms

Arrays = dict[str, NDArray[Any]]
Among = Bools | RowIndex  # the items that may be recommended: to everyone alike, or to each user her own
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

    def answer(self, users: Ints) -> NDArray[Any]:
        """`score`, with the scores of an empty history for users without a training row."""
        scores = self.score(users)
        without = self.train.user_counts[users] == 0
        if without.any():
            scores[without] = self.score_history(np.zeros(0, np.int32))
        return scores

    def predict(self, users: Ints, items: Ints) -> Floats:
        """The rating of each pair of a user and an item by raters, the label of each sample by classifiers."""
        raise SettingError("this protocol needs a model that predicts, but this one only ranks items.")

    @property
    def item_vectors(self) -> NDArray[Any] | None:
        """The item vectors it ranks with: (items, factors); None: it has none."""
        return None

    def terms(self, user: int) -> ScoreTerms | None:
        """What the scores of a known user are sums of; None: they are no sums that could be shown."""
        return None

    def terms_history(self, items: Ints, time: Longs | None = None) -> ScoreTerms | None:
        """The same for someone unknown who likes `items`, and had them at these times."""
        return None

    @property
    def clients(self) -> TrainingGroups | None:
        """The groups whose members were one client each in training; None: nobody shared one."""
        return None

    def cost(self) -> dict[str, float]:
        """What left the devices, for the table beside accuracy; nothing where all data were in one place."""
        return {}

    def records(self) -> dict[str, Any]:
        """What a run folder keeps of the training: objects, or tables as (header, rows), by file name."""
        return {}

    @property
    def candidates(self) -> Bools:
        """Which items may be recommended: those that occur in training."""
        return self.train.item_counts > 0

    @abstractmethod
    def recommend(self, users: Ints, k: int = 10, workers: int = 1, among: Among | None = None) -> RankedLists:
        """The k best items a known user has not interacted with; ties go to the lower item id.

        A user without a training row is answered like an empty history. `among` marks the items that may be
        recommended, or has those of each user, of which the candidates are; None: the candidates.
        """

    @abstractmethod
    def recommend_history(self, items: Ints, k: int = 10, time: Longs | None = None) -> RankedLists:
        """The k best items for someone unknown, her own items excluded.

        `time` says when she had each of them, where that is known: it counts where the model uses it.
        """

    def recommend_ids(self, users: Iterable[Any], k: int = 10) -> dict[Any, list[Any]]:
        """The same with own ids in and out; a user never met is answered like an empty history."""
        wanted = list(users)
        codes = self.train.users.find(wanted)
        known = self.recommend(np.maximum(codes, 0), k).item
        stranger = self.recommend_history(np.zeros(0, np.int32), k).item[0]
        labels = self.train.items.labels
        rows = (row if code >= 0 else stranger for code, row in zip(codes, known))
        return {who: labels[row[row >= 0]].tolist() for who, row in zip(wanted, rows)}
