"""What a method may use beside the pairs of user and item, stated once for centralised and federated ones.

Recency: a power of how many newer items someone has, as the decays of V-SKNN (Ludewig and Jannach:
Evaluation of session-based recommendation algorithms, UMUAI 2018). Features as further rows of the table:
Jeunen, Van Balen and Goethals: Closed-form models for collaborative filtering with side-information (RecSys
2020). The weight of a person: pairs of someone with n items count n^-w, as Deshpande and Karypis scale rows
(Item-based top-N recommendation algorithms, TOIS 2004).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from murmura.baselines.base import Baseline, RankingModel
from murmura.core.arrays import Bools, Floats, Ints, Longs, Singles
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, latest_each
from murmura.core.settings import Fraction, settings
from murmura.kernels.item_weights import feature_table, require_features
from murmura.kernels.sparse import Sparse

Share = Annotated[float, Field(ge=0)]


@settings
class RankingSettings:
    """What counts where lists are ranked; of a federated method that is the device."""

    recency: Share = 0.0  # an item followed by g newer ones counts (1 + g)^-recency; 0: all alike
    discount: Share = 0.0  # of log(count + 1): how much popularity is held against an item
    value_from: float | None = None  # rows of a smaller value take no part; None: all do

    @property
    def uses_order(self) -> bool:
        """Where the newest items count most, or what comes next."""
        return self.recency > 0 or getattr(self, "order", 0) > 0

    def check_rows(self, value: Floats, time: Longs | None) -> None:
        """Refuse what needs times where there are none."""
        for name in ("recency", "order"):
            if getattr(self, name, 0) and time is None:
                raise DataError(
                    f"{name} must be 0 where rows have no times, as here, but it is "
                    f"{getattr(self, name):g}; give -S {name}=0, or data with times."
                )

    def takes(self, value: Floats) -> Bools:
        """Which rows take part."""
        if self.value_from is None:
            return np.ones(len(value), np.bool_)
        return value >= self.value_from


def recency(time: Longs, power: float) -> Floats:
    """(1 + gap)^-power of every row; gap: how many rows are newer, rows of one time the average of theirs."""
    _, place, size = np.unique(-time, return_inverse=True, return_counts=True)
    newer = np.cumsum(size) - size
    gap: Floats = (newer + (size - 1) / 2)[place]
    return (1 + gap) ** -power


def standardised(scores: Singles) -> Singles:
    """Scores of mean 0 and deviation 1, each row by itself; a row of equal scores becomes 0."""
    mean, spread = scores.mean(axis=-1, keepdims=True), scores.std(axis=-1, keepdims=True)
    found: Singles = (scores - mean) / np.where(spread > 0, spread, np.float32(1))
    return found


def less_popular(scores: Singles, counts: NDArray[Any], discount: float) -> Singles:
    """Scores, less so much of the logarithm of how often each item occurs."""
    found: Singles = scores - np.float32(discount) * np.log(counts + 1).astype(np.float32)
    return found


@settings
class InformedBaseline(RankingSettings, Baseline):
    """A centralised method that can use what the federated ones use."""

    person_weight: Fraction = 0.0  # pairs of someone with n items count n^-person_weight: 0, 0.5 or 1

    @property
    def uses_features(self) -> bool:
        """Whether the features of items count."""
        return bool(getattr(self, "features", 0.0) > 0)

    def check(self, train: Interactions, seed: int) -> None:
        """Refuse to use times or features where there are none as well."""
        super().check(train, seed)
        self.check_rows(train.value, train.time)
        if self.uses_features:
            require_features(train, self.name)

    def used(self, train: Interactions) -> Interactions:
        """The rows that take part."""
        return train if self.value_from is None else train.rows(self.takes(train.value))

    def ranked(self, used: Interactions, x: Sparse) -> Sparse:
        """x as lists are ranked by it: the newest items of everybody count most."""
        if not self.recency:
            return x
        assert used.time is not None
        value, time = x.value.copy(), used.time[used.by_user.order]
        for first, last in zip(x.start.tolist(), x.start[1:].tolist()):
            value[first:last] *= recency(time[first:last], self.recency)
        return Sparse.of(x.start, x.column, value)

    def personal(self, x: Sparse, power: float = 1.0) -> Sparse:
        """x as it is learned from: each person's row times n^-(power person_weight)."""
        n = np.diff(x.start)
        scale = np.maximum(n, 1.0) ** -(power * self.person_weight)
        return Sparse.of(x.start, x.column, x.value * np.repeat(scale, n))

    def with_features(self, x: Sparse, train: Interactions, share: float) -> Sparse:
        """x and a row for each feature; their products are `share` times the cosines of items by features."""
        if not share or train.features is None:
            return x
        table = feature_table(train.features, np.arange(train.n_items, dtype=np.int32)).T.tocsr()
        table.sort_indices()
        start = np.concatenate([x.start, x.start[-1] + table.indptr[1:]])
        value = np.concatenate([x.value, np.sqrt(share) * table.data])
        return Sparse.of(start, np.concatenate([x.column, table.indices]), value)


@dataclass(frozen=True, eq=False)
class InformedModel(RankingModel):
    """A model that ranks by weighted histories, known ones and new ones alike."""

    history: Sparse  # (users, items) how much each item of each person counts
    method: Any

    @abstractmethod
    def score_rows(self, users: Ints, history: Sparse) -> Singles:
        """The scores for some rows of a history, before popularity is held against items."""

    @cached_property
    def counts(self) -> Longs:
        """(items,) how often each item occurs among the rows that take part."""
        found: Longs = self.method.used(self.train).item_counts
        return found

    def score(self, users: Ints) -> Singles:
        """The scores of known users; popularity for one none of whose rows takes part."""
        scores = self.by_popularity(self.score_rows(users, self.history))
        if self.method.value_from is not None:
            scores[np.diff(self.history.start)[users] == 0] = self.counts
        return scores

    def score_history(self, items: Ints) -> Singles:
        """The same for someone new, all of whose items are alike."""
        return self._score_new(*self.weighted_history(items, None))

    def score_timed_history(self, items: Ints, time: Longs) -> Singles:
        """The same for someone new; her newest items count most, where recency says so."""
        return self._score_new(*self.weighted_history(items, time))

    def weighted_history(self, items: Ints, time: Longs | None) -> tuple[Longs, Floats]:
        """Each item of someone new once, and how much it counts."""
        own, when = latest_each(items, time)
        return own, np.ones(len(own)) if when is None else recency(when, self.method.recency)

    def by_popularity(self, scores: Singles) -> Singles:
        """Standardised scores less the discount; the same scores where there is none."""
        discount = self.method.discount
        return less_popular(standardised(scores), self.counts, discount) if discount else scores

    def _score_new(self, own: Longs, weight: Floats) -> Singles:
        if not len(own):
            return self.counts.astype(np.float32)
        history = Sparse.of(np.array([0, len(own)]), own, weight)
        scores: Singles = self.by_popularity(self.score_rows(np.zeros(1, np.int32), history))[0]
        return scores
