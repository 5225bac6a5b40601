"""From sums to weights, and from weights to a person's scores: of the federated method and its pooled twin."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.algorithms.cooccurrence.model_settings import PairModelSettings, RankingSettings
from murmura.algorithms.cooccurrence.next_items import item_scale, position
from murmura.algorithms.cooccurrence.scoring import WeightBlend, recency
from murmura.core.arrays import Bools, Floats, Ints, Longs, Singles
from murmura.core.errors import DataError
from murmura.core.features import ItemFeatures
from murmura.kernels.item_weights import NearestItems, add_feature_cosines, ease_weights, nearest_items

Tables = Mapping[str, NDArray[Any]]


def pair_weights(
    settings: PairModelSettings, G: Floats, counts: Longs, features: ItemFeatures | None
) -> dict[str, NDArray[Any]]:
    """The tables of weights between items, from how often two of them occur together; G is overwritten.

    G is of `settings.weighed(counts)`; what is too rare for pairs has zeros in it.
    """
    items = settings.weighed(counts)
    own = counts[items]
    seen = sole_owners(G, np.where(own >= settings.least, own, 0))
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


def valued(settings: RankingSettings, value: Floats) -> Bools:
    """Which rows take part."""
    if settings.value_from is None:
        return np.ones(len(value), np.bool_)
    return value >= settings.value_from


def check_times(settings: RankingSettings, time: Longs | None) -> None:
    """Refuse what needs times where there are none."""
    for name in ("recency", "order"):
        if getattr(settings, name, 0) and time is None:
            raise DataError(
                f"{name} must be 0 where rows have no times, as here, but it is "
                f"{getattr(settings, name):g}; give -S {name}=0, or data with times."
            )


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
        kept = _KEPT.get("newest")
        if kept is not None and kept[0] == settings and kept[1]() is mark:
            return kept[2]
        made = PairModel._made(settings, tables)
        _KEPT["newest"] = settings, weakref.ref(mark), made
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


_KEPT: dict[str, tuple[PairModelSettings, weakref.ref[NDArray[Any]], PairModel]] = {}
