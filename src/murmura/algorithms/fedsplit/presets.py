"""The named configurations of FedSPLIT: as printed, its groups alone, and with a ridge."""

from __future__ import annotations

from murmura.algorithms.fedsplit.extended import FedSplitExtended
from murmura.algorithms.preset import GROUPS, Preset

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
