"""What a model of co-occurrences is made of, as settings: of the federated method and of its pooled twin."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from murmura.core.arrays import Ints, Longs
from murmura.core.errors import SettingError
from murmura.core.settings import Count, Fraction, Positive, settings

Share = Annotated[float, Field(ge=0)]


@settings
class RankingSettings:
    """What counts on the device that ranks, of any model of co-occurrences."""

    recency: Share = 0.0  # an item followed by g newer ones counts (1 + g)^-recency; 0: all alike
    discount: Share = 0.0  # of log(count + 1): how much popularity is held against an item
    value_from: float | None = None  # rows of a smaller value take no part; None: all do


@settings
class PairModelSettings(RankingSettings):
    """Which weights between items, how they are blended, and what counts on the device that ranks."""

    ease: Share = 0.0  # how much the weights of EASE count; scores of several kinds are standardised
    knn: Share = 0.0  # how much those of Item-kNN count
    order: Share = 0.0  # how much what comes next counts: a regression on `rank` directions
    reg: Positive = 500.0  # the ridge of EASE
    features: Share = 0.0  # so many times reg goes to what public features say of two items
    k: Count = 200  # neighbours of Item-kNN
    asymmetry: Fraction = 0.5  # of its cosine, as in `item-knn`
    shrink: Share = 0.0  # distrust of similarities that rest on little
    power: Positive = 1.0  # above 1 the nearest neighbours weigh more
    rank: Count = 64  # directions of order
    decay: Share = 1.2  # of order: as recency, for where someone stands
    ridge: Positive = 0.003  # of that regression
    least: Count = 5  # rarer items take no part in pairs; with features they are known by these alone
    memory_gb: Positive = 4.0  # of the machine that solves for the weights

    def __post_init__(self) -> None:
        if not self.ease and not self.knn and not self.order:
            raise SettingError("ease, knn or order must be above 0, but all are 0; give one of them.")
        if self.features and not self.ease:
            raise SettingError("features must be 0 where ease is 0, but is not: only EASE takes them.")

    def weighed(self, counts: Longs) -> Ints:
        """Ascending: the items between which there are weights, once the counts are known."""
        if not counts.any():
            return np.empty(0, np.int32)
        return np.flatnonzero(counts >= (0 if self.features else self.least)).astype(np.int32)

    def refuse_too_large(self, n: int) -> None:
        """Before anything that large is made: a table of counts, which the solution overwrites, and weights."""
        if not self.ease and not self.knn:
            return
        needed = n**2 * (8 + 4 * (bool(self.ease) + bool(self.knn))) / 1e9
        if needed > self.memory_gb:
            raise SettingError(
                f"memory_gb must be at least {needed:.1f} for the weights between {n} items, but it is "
                f"{self.memory_gb:g}; raise it, or raise least, {self.least} now, for fewer items."
            )
