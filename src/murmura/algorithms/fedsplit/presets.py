"""The named configurations of FedSPLIT: as printed, its groups alone, and ours. Each exchanges once."""

from __future__ import annotations

from murmura.algorithms.fedsplit.co_statistics import CoStatistics
from murmura.algorithms.fedsplit.extended import FedSplitExtended
from murmura.algorithms.fedsplit.ridge_rater import ItemMeans
from murmura.algorithms.fedsplit.svd import FedSplitSvd
from murmura.algorithms.preset import GROUPS, Preset
from murmura.core.schedule import Schedule

FEDSPLIT = Preset(
    "fedsplit",
    FedSplitExtended,
    "FedSPLIT as printed: the item biases averaged over all groups, W M' on the client.",
    parts=GROUPS,
)
CNMF_GROUPS = Preset(
    "cnmf-groups",
    FedSplitExtended,
    "Every group's own factorisation with the mean of all groups, and no other exchange.",
    {"finish": "local"},
    GROUPS,
)
FEDSPLIT_RIDGE = Preset(
    "fedsplit-ridge",
    FedSplitExtended,
    "Ours: item means and counts travel with H; everyone's factors are solved anew against the patterns.",
    {"bias": "means", "finish": "ridge"},
    GROUPS,
)
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
