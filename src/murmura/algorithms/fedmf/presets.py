"""The named configuration of FedMF: one round with every client is an epoch, clients are FedSPLIT's groups."""

from __future__ import annotations

from murmura.algorithms.fedmf.fedmf import FedMF
from murmura.algorithms.preset import ROUNDS, Preset
from murmura.core.schedule import Grouping

FEDMF = Preset(
    "fedmf",
    FedMF,
    "FedMF: factors of ratings learned in rounds from summed gradients of item vectors.",
    {"clients": "all", "rounds_per_epoch": 1, "epochs": 50},
    (*ROUNDS, Grouping),
)
