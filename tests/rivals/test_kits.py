"""The rivals of other authors keep every promise of the kit; which of them answer strangers is said."""

import pytest

from murmura.core.contract import Algorithm
from murmura.core.schedule import Schedule
from murmura.lab.rivals.federated.colr import CoLR
from murmura.lab.rivals.federated.fedrap import FedRAP
from murmura.lab.rivals.federated.fedrec import FedRec
from murmura.lab.rivals.federated.fedrecon import FedRecon
from murmura.testing import AlgorithmKit

pytestmark = pytest.mark.slow


class TestFedRAP(AlgorithmKit):
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=2)
    quality_floor = 0.0  # far below popularity on honest ground, as measured in docs/rivals.md
    no_strangers = "its own table is learned over rounds"

    def make(self) -> Algorithm:
        return FedRAP(factors=4, item_rate=2.0, apart=0.01, sparse=0.01, local_epochs=2, precision="float64")


class TestCoLR(AlgorithmKit):
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=10)

    def make(self) -> Algorithm:
        return CoLR(factors=4, rank=2, negatives=2, batch=8, spread=0.5, precision="float64")


class TestFedRecon(AlgorithmKit):
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=10)
    quality_floor = 0.7  # a vector from a fresh start sees one draw of negatives

    def make(self) -> Algorithm:
        return FedRecon(factors=4, batch=8, negatives=2, spread=0.5, precision="float64")


class TestFedRec(AlgorithmKit):
    rated = True
    quality_floor = 0.8
    training = Schedule(clients="all", rounds_per_epoch=20, epochs=10)

    def make(self) -> Algorithm:
        return FedRec(factors=4, negatives=1, rate=0.4, rate_decay=0.99, spread=0.3, precision="float64")
