"""The named configuration of federated averaging: ten clients a round, as the thesis has them of a hundred."""

from __future__ import annotations

from murmura.algorithms.fedavg.fedavg import FederatedAveraging
from murmura.algorithms.preset import Preset

FEDAVG = Preset(
    "fedavg",
    FederatedAveraging,
    "fedavg: a convolutional classifier, averaged over clients by the number of their samples.",
    {"clients": 0.1, "rounds_per_epoch": 1, "epochs": 100, "criteria": ("dataset_size",)},
)
