"""The named configurations of ours that exchange once: singular vectors, summed co-statistics, item means."""

from __future__ import annotations

from murmura.algorithms.one_shot.co_statistics import CoStatistics, FedSplitSvd
from murmura.algorithms.one_shot.ridge_rater import ItemMeans
from murmura.algorithms.preset import GROUPS, Preset
from murmura.core.schedule import Schedule

FEDSPLIT_SVD = Preset(
    "fedsplit-svd",
    FedSplitSvd,
    "Ours: singular vectors of ratings and of who rated what in place of non-negative factors.",
    parts=GROUPS,
)
CO_STATISTICS = Preset(
    "co-statistics",
    CoStatistics,
    "Ours: summed products of item pairs; the groups only say over whom errors are averaged.",
    parts=GROUPS,
    fixed=Schedule(clients="all", rounds_per_epoch=16, epochs=1),  # the sums are large: saved every 16 blocks
)
ITEM_MEANS = Preset(
    "item-means",
    ItemMeans,
    "No factors at all: summed item means, and a user bias on the client.",
    parts=GROUPS,
)
