"""The named configurations of FCF: one round with every client is an epoch."""

from __future__ import annotations

from murmura.algorithms.fcf.fcf import FCF, FCFPaper
from murmura.algorithms.preset import Preset

EVERYONE = {"clients": "all", "rounds_per_epoch": 1}

FCF_BASELINE = Preset(
    "fcf",
    FCF,
    "fcf: the baseline in the tables of FedeRank and FPL, as its authors' code computes it.",
    {**EVERYONE, "epochs": 20},
)
FCF_PAPER = Preset(
    "fcf-paper", FCFPaper, "fcf-paper: as its own paper describes it.", {**EVERYONE, "epochs": 30}
)
