"""Salton and Buckley: Term-weighting approaches in automatic text retrieval (1988), items in place of texts.

An item has a feature or not, so that its weight is the feature's idf alone, scaled to unit length:
w_if = log(N / n_f) / |w_i|,  N items, n_f of which have feature f.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Longs
from murmura.core.errors import SettingError
from murmura.core.features import ItemFeatures
from murmura.core.interactions import Interactions
from murmura.kernels.sparse import Sparse


class ItemVectors(NamedTuple):
    """Every item as a vector over the features that were kept; one without any is all 0."""

    weights: Sparse  # (items, kept features), rows of length 1 or 0
    kept: Longs  # (kept features,) which feature each column is


def require_features(train: Interactions, name: str) -> ItemFeatures:
    """Refuse to learn from items of which nothing is known."""
    if train.features is None or not len(train.features):
        raise SettingError(
            f"{name} needs items with features, but the data have none; give them with --features FILE, or "
            "choose another protocol or model."
        )
    return train.features


def item_vectors(features: ItemFeatures, least_share: float | None, name: str) -> ItemVectors:
    """The items' vectors over the features that at least this share of all items has; None: over all."""
    counts = np.bincount(features.feature, minlength=len(features))
    known = counts >= (least_share or 0.0) * features.items
    if not known.any():
        raise SettingError(
            f"{name}.least_share must leave at least one feature, but none of the {len(features)} belongs to "
            f"{least_share} of the items; lower it."
        )
    pair = known[features.feature]
    item, feature = item_of_pairs(features)[pair], features.feature[pair]
    idf = np.log(features.items / counts[feature])
    length = np.sqrt(np.bincount(item, idf**2, minlength=features.items))[item]
    value = np.divide(idf, length, out=np.zeros_like(idf), where=length > 0)
    start = np.searchsorted(item, np.arange(features.items + 1))
    return ItemVectors(Sparse.of(start, (np.cumsum(known) - 1)[feature], value), np.flatnonzero(known))


def item_of_pairs(features: ItemFeatures) -> Longs:
    """(pairs,) the item of each pair."""
    return np.repeat(np.arange(features.items), np.diff(features.start))
