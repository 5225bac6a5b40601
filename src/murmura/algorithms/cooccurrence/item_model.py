"""What methods of sums share: counts first, from sums to weights between items, from weights to scores.

Weights and scores are those of the federated methods, of their centralised equivalents, and on the device that
ranks: her newest items count most there, and nothing of it leaves.
"""

from __future__ import annotations

import math
import weakref
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.baselines.information import (
    RankingSettings,
    Share,
    less_popular,
    recency,
    standardised,
)
from murmura.core.arrays import Bools, Floats, Ints, Longs, Singles
from murmura.core.contract import Algorithm, ClientState, History, Phase, RoundContext
from murmura.core.errors import MemoryLimitError, SettingError
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng
from murmura.core.settings import Count, Fraction, Positive, settings
from murmura.core.update import Arrays, Update
from murmura.kernels.item_weights import NearestItems, add_feature_cosines, ease_weights, nearest_items

Tables = Mapping[str, NDArray[Any]]


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

    @property
    def uses_features(self) -> bool:
        """Only EASE with features does."""
        return self.features > 0

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
            enough = math.ceil(10 * needed) / 10  # what is rounded down is refused again
            raise MemoryLimitError(
                f"memory_gb must be at least {enough} for the weights between {n} items, but it is "
                f"{self.memory_gb:g}; raise it, or raise least, {self.least} now, for fewer items."
            )


def pair_weights(
    settings: PairModelSettings,
    G: Floats,
    counts: Longs,
    features: ItemFeatures | None,
    weighted: NDArray[Any] | None = None,
) -> dict[str, NDArray[Any]]:
    """The tables of weights between items, from how often two of them occur together; G is overwritten.

    G is of `settings.weighed(counts)`; what is too rare for pairs has zeros in it. `weighted`: the counts of
    these items where people have weights.
    """
    items = settings.weighed(counts)
    often = counts[items]
    own = often if weighted is None else weighted
    seen = sole_owners(G, np.where(often >= settings.least, often, 0))
    found: dict[str, NDArray[Any]] = {"exposed": np.array([[seen]], np.uint32)}
    if settings.knn:
        s = settings
        near = nearest_items(G, own, s.k, s.asymmetry, s.shrink, s.power)
        found |= {"neighbours": near.item.astype(np.uint32), "similarity": near.weight}
    if settings.ease:
        G.flat[:: len(G) + 1] = own
        if features is not None:
            add_feature_cosines(G, features, items, settings.features * settings.reg)
        with threadpool_limits(1, "blas"):
            found["ease"] = ease_weights(G, settings.reg)
    return found


def sole_owners(G: Floats, counts: Longs) -> int:
    """How many people are the only owner of an item: its row is their list.

    Two such items belong to one person if and only if they occur together.
    """
    single = np.flatnonzero(counts == 1)
    together = G[np.ix_(single, single)] > 0
    together.flat[:: len(single) + 1] = True
    return len(np.unique(together.argmax(axis=1))) if len(single) else 0


def telling(G: Floats, counts: Longs) -> Bools:
    """Which items tell on all who have them: another one occurs with them as often as they do themselves.

    G is of whole numbers and has zeros on its diagonal.
    """
    most: Floats = G.max(axis=1, initial=0)
    return (counts > 0) & (most >= counts)


def rarest_rows(owner: Longs, item: Ints, counts: Longs) -> Longs:
    """The row of everybody's rarest item; of equally rare ones the first."""
    order = np.lexsort((item, counts[item], owner))
    return order[np.unique(owner[order], return_index=True)[1]]


@dataclass(frozen=True, eq=False)
class WeightBlend:
    """Weights between the items that take part, and how much each kind counts; others follow by count."""

    items: Ints  # (n,) ascending
    counts: Longs  # (all items,)
    parts: tuple[tuple[float, Singles], ...]  # (weight, (n, n) by source and target)
    discount: float = 0.0  # of log(count + 1): how much popularity is held against an item

    def scores(self, own: Ints, weight: Floats, further: Sequence[tuple[float, Singles]] = ()) -> Singles:
        """The scores of all items for someone with these items, each of this weight.

        `further` are scores of the items that take part by other means, and how much each counts.
        """
        known = np.isin(own, self.items)
        if not known.any():
            return self.counts.astype(np.float32)
        z, rows = weight[known].astype(np.float32), np.searchsorted(self.items, own[known])
        found = [*((share, z @ table[rows]) for share, table in self.parts), *further]
        # one kind without a discount ranks as it is: a change of scale could only make ties
        mixed = found[0][1] if len(found) == 1 and not self.discount else _mixed(found)
        if self.discount:
            mixed = less_popular(mixed, self.counts[self.items], self.discount)
        return self._with_others(mixed)

    def _with_others(self, scores: Singles) -> Singles:
        """Items that take no part come after all others, the more frequent first."""
        every: Singles = (scores.min() - 1 / (1 + self.counts)).astype(np.float32)
        every[self.items] = scores
        return every


def _mixed(found: list[tuple[float, Singles]]) -> Singles:
    total: Singles = np.zeros(len(found[0][1]), np.float32)
    for share, scores in found:
        total += np.float32(share) * standardised(scores)
    return total


def item_scale(counts: Longs, least: int) -> Floats:
    """D: rare items weigh more; those that take no part nothing."""
    there = counts >= least
    mean = float(counts[there].mean()) if there.any() else 1.0
    return np.where(there, np.sqrt(mean / np.maximum(counts, 1)), 0.0)


def position(own: Ints, time: Longs, scale: Floats, V: Singles, decay: float) -> Floats:
    """phi of someone with these items: (rank + 1,), the last is 1."""
    weighed = recency(time, decay) * scale[own]
    return np.append(np.sqrt(V.shape[1]) * (weighed @ V[own].astype(np.float64)), 1.0)


@dataclass(frozen=True, eq=False)
class PairModel:
    """A public model, ready to rank."""

    settings: PairModelSettings
    blend: WeightBlend
    basis: Singles | None = None  # (items, rank)
    predictor: Singles | None = None  # (items, rank + 1)
    scale: Floats | None = None  # (items,)

    @staticmethod
    def of(settings: PairModelSettings, tables: Tables) -> PairModel:
        """The newest one is kept: every client of a process asks for the same."""
        mark = tables.get("predictor", tables.get("exposed", tables["counts"]))
        kept = _CACHE.get("newest")
        if kept is not None and kept[0] == settings and kept[1]() is mark:
            return kept[2]
        made = PairModel._made(settings, tables)
        _CACHE["newest"] = settings, weakref.ref(mark), made
        return made

    @staticmethod
    def _made(settings: PairModelSettings, tables: Tables) -> PairModel:
        counts = tables["counts"][:, 0].astype(np.int64)
        items = settings.weighed(counts)
        parts: list[tuple[float, Singles]] = []
        if "ease" in tables:
            parts.append((settings.ease, np.asarray(tables["ease"], np.float32)))
        if "similarity" in tables:
            near, similar = tables["neighbours"].astype(np.int32), np.asarray(tables["similarity"], np.float32)
            parts.append((settings.knn, NearestItems(near, similar).dense()))
        known = items if parts or settings.order else items[:0]
        blend = WeightBlend(known, counts, tuple(parts), settings.discount)
        if not settings.order:
            return PairModel(settings, blend)
        scale = item_scale(counts, settings.least)
        return PairModel(settings, blend, tables["basis"], tables["predictor"], scale)

    def scores(self, item: Ints, time: Longs | None) -> Singles:
        """The scores of all items for one person; her newest items count most. Without times all are alike."""
        s, further = self.settings, list[tuple[float, Singles]]()
        time = np.zeros(len(item), np.int64) if time is None else time
        if s.order:
            assert self.basis is not None
            assert self.predictor is not None
            assert self.scale is not None
            phi = position(item, time, self.scale, self.basis, s.decay).astype(np.float32)
            further = [(s.order, np.asarray(self.predictor[self.blend.items] @ phi, np.float32))]
        weights = recency(time, s.recency) if s.recency else np.ones(len(item))
        return self.blend.scores(item, weights, further)


_CACHE: dict[str, tuple[PairModelSettings, weakref.ref[NDArray[Any]], PairModel]] = {}


def evenly(owner: Longs, cap: int) -> Bools:
    """(rows,) which rows take part if at most `cap` of each owner may, evenly spread over hers; 0: all."""
    _, whose, held = np.unique(owner, return_inverse=True, return_counts=True)
    order = np.argsort(whose, kind="stable")
    place = np.empty(len(owner), np.int64)
    place[order] = np.arange(len(owner)) - np.repeat(np.cumsum(held) - held, held)
    taken: Bools = (place + 1) * cap % held[whose] < cap
    return taken | (cap == 0)


class CountingMethod(RankingSettings, Algorithm):
    """A method whose first exchange, `counts`, makes public how often each item occurs."""

    releases_counts: ClassVar[bool] = True

    def public_counts(self, model: Arrays) -> Longs | None:
        """What the first exchange has told."""
        counts = model["counts"][:, 0].astype(np.int64)
        return counts if counts.any() else None

    def expected_counts(self, data: Interactions) -> Longs | None:
        """How often each item occurs in the rows that take part."""
        return np.bincount(data.item[self.takes(data.value)], minlength=data.n_items)

    def shared(self, history: History, rng: Rng) -> History:
        """What someone shares in an exchange."""
        return history.rows(history.open_rows(rng) & self.takes(history.value))

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """What is counted; pairs show no other item than that."""
        if phase.name == "counts":
            return np.isin(history.item, update.tables["counts"].index)
        return np.zeros(len(history), np.bool_)

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> NDArray[Any]:
        """The scores of every person of the client."""
        rows = history.rows(self.takes(history.value))
        people = int(history.owners.max(initial=0)) + 1
        each = (rows.rows(rows.owners == person) for person in range(people))
        return np.stack([self.person_scores(context, mine) for mine in each])

    @abstractmethod
    def person_scores(self, context: RoundContext, mine: History) -> NDArray[Any]:
        """What one person's items say of all others."""
