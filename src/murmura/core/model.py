"""Methods and the models they fit, centralised or federated: all are fitted, saved and asked in the same way.

A model answers with ranked lists; where its scores are sums, their terms are the reasons it can give.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ints, Longs, Singles
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions, RowIndex
from murmura.core.progress import SILENT, Progress

NO_ITEM = -1


@dataclass(frozen=True, eq=False)
class TrainingGroups:
    """Groups of users who were one client each in a training."""

    of: Ints  # (users,) the group of every user, -1: in none
    names: tuple[str, ...]
    refused: dict[int, str]  # groups left out of an exchange, and why


@dataclass(frozen=True, eq=False)
class RankedLists:
    """One ranked list per user, best first; a list shorter than the others ends in NO_ITEM.

    Ties are broken by the lower item code, that is, by the lower item id.
    """

    user: Ints  # (users,)
    item: Ints  # (users, k)
    score: Singles  # (users, k) -inf beside NO_ITEM

    @property
    def k(self) -> int:
        """The length of the longest list."""
        return int(self.item.shape[1])

    def top(self, k: int) -> RankedLists:
        """The first k of every list."""
        return RankedLists(
            self.user, np.ascontiguousarray(self.item[:, :k]), np.ascontiguousarray(self.score[:, :k])
        )


@dataclass(frozen=True, eq=False)
class ScoreTerms:
    """Terms that add up to the scores of all items: those of features of items first, then what else counts."""

    names: tuple[str, ...]  # (terms,) what a person reads
    gain: Floats  # (features,) how much each tells about what she chooses
    values: Floats  # (terms, items) what each adds to the score of every item; 0 where it says nothing
    own: Ints | None = None  # (terms,) the own item each term is of; None: they are of something else

    @staticmethod
    def of_items(own: Ints, labels: NDArray[Any], values: Floats) -> ScoreTerms:
        """What each own item adds to the scores; until somebody names them, they have their labels."""
        return ScoreTerms(tuple(map(str, labels[own].tolist())), np.zeros(0), values, own)

    @staticmethod
    def of_popularity(counts: NDArray[Any]) -> ScoreTerms:
        """Of whom nothing is known: how often each item occurs is all there is to say."""
        return ScoreTerms(("how many have it",), np.zeros(0), np.asarray(counts, np.float64)[None, :])

    def named(self, name: Callable[[int], str]) -> ScoreTerms:
        """The same with the names of the own items that terms are of."""
        return self if self.own is None else replace(self, names=tuple(map(name, self.own.tolist())))

    @property
    def features(self) -> int:
        """How many of the terms, the first ones, are features of items."""
        return len(self.gain)

    @cached_property
    def scores(self) -> Floats:
        """The terms added up, one after the other."""
        total: Floats = np.zeros(self.values.shape[1])
        for values in self.values:
            total += values
        return total

    def of(self, item: int) -> Ints:
        """The terms of one item, the most informative feature first, then the largest of what is none."""
        here = np.flatnonzero(self.values[:, item])
        known, other = here[here < self.features], here[here >= self.features]
        order = np.lexsort((known, -self.gain[known]))
        largest = np.lexsort((other, -np.abs(self.values[other, item])))
        return np.concatenate([known[order], other[largest]]).astype(np.int32)

    def drops(self, item: int, term: int, offered: Ints, k: int) -> bool:
        """Whether an item leaves the first k of what is on offer when a term is taken from every score.

        Ties go to the lower number, as in every list.
        """
        left = (self.scores - self.values[term])[offered]
        own = left[np.searchsorted(offered, item)]
        before = (left > own) | ((left == own) & (offered < item))
        return int(before.sum()) >= k


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


Information = Literal["time", "order", "features"]
EVERYTHING = "all data"  # what is read where all data are in one place


class Method(Protocol):
    """A method with its hyper-parameters, ready to be fitted."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def seeded(self) -> bool:
        """Whether the seed changes the result."""

    @property
    def uses_order(self) -> bool:
        """Whether, with these settings, the result depends on the order of a person's rows in time."""
        return False

    @property
    def uses_features(self) -> bool:
        """Whether, with these settings, the result depends on the features of items."""
        return False

    @property
    def uses(self) -> tuple[Information, ...]:
        """What it learns from beside the pairs of user and item; a method that reads times adds `time`."""
        order: tuple[Information, ...] = ("order",) if self.uses_order else ()
        return (*order, "features") if self.uses_features else order

    @property
    def server_reads(self) -> str:
        """What whoever runs it gets to read of people, in two words; centralised methods have everything."""
        return EVERYTHING

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse data it cannot learn from, before anything is written; by default none."""
        return

    @abstractmethod
    def fit(
        self,
        train: Interactions,
        seed: int = 0,
        progress: Progress = SILENT,
        watch: Callable[[int, Any], bool] | None = None,
    ) -> Model:
        """Learn from the training part; methods that learn in epochs call `watch` after each."""

    def fit_resumably(
        self,
        train: Interactions,
        seed: int,
        progress: Progress,
        folder: Path,
        checkpoint_every: int | None,
        watch: Callable[[int, Any], bool] | None = None,
    ) -> Model:
        """Fit; a long training saves itself in `folder` on the way and goes on from there."""
        return self.fit(train, seed, progress, watch)

    @abstractmethod
    def save(self, path: Path, model: Model) -> None:
        """Keep a fitted model as one file, complete or not at all."""

    @abstractmethod
    def load(self, path: Path, train: Interactions) -> Model:
        """The model a file keeps, with the training part it was fitted on."""

    def drawn_negatives(self, train: Interactions, seed: int, epoch: int) -> tuple[Ints, Ints] | None:
        """The (user, item) pairs `fit` takes as negatives in an epoch, each unmet item equally likely.

        None: this method draws none. The check for leaks counts how many of them are held out.
        """
        return None
