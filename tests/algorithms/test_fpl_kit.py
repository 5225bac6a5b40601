"""FPL in all its configurations keeps every promise of the kit."""

import pytest

from murmura.algorithms.fpl.fpl import FPL
from murmura.core.schedule import Schedule
from murmura.core.settings import changed
from murmura.testing import AlgorithmKit

pytestmark = pytest.mark.slow


class TestOneTriple(AlgorithmKit):
    """sFPL and pFPL."""

    schedule = Schedule(clients=1, rounds_per_epoch=20, epochs=2)
    training = Schedule(clients="all", rounds_per_epoch=400, epochs=2)

    def make(self) -> FPL:
        return FPL(precision="float64", factors=6)


class TestMeanTriples(AlgorithmKit):
    """sFPL+."""

    schedule = Schedule(clients=1, rounds_per_epoch=10, epochs=2)

    def make(self) -> FPL:
        return FPL(precision="float64", triples="mean", factors=5)


@pytest.mark.smoke
class TestCohorts(AlgorithmKit):
    """pFPL+, and any number of clients."""

    def make(self) -> FPL:
        return FPL(precision="float64", triples=7)


class TestEquations(AlgorithmKit):
    """The papers' equations as printed, with the client's own number of triples."""

    def make(self) -> FPL:
        return FPL(precision="float64", triples="own", version="equations", factors=9)


class TestRealFederation(AlgorithmKit):
    """cFPL: prior, local passes, AdaGrad."""

    training = Schedule(clients=12, rounds_per_epoch=20, epochs=3)

    def make(self) -> FPL:
        return FPL(
            precision="float64", triples="own", optimiser="adagrad", server_alpha=0.1, warm=2, refresh=2,
            prior=True,
        )  # fmt: skip


class TestTrustRegion(TestRealFederation):
    """cFPL whose server stays within reach of the counts."""

    def make(self) -> FPL:
        return changed(super().make(), trust_region=True)


class TestAdam(AlgorithmKit):
    def make(self) -> FPL:
        return FPL(precision="float64", triples="own", optimiser="adam", server_alpha=0.02, warm=1)


class TestPerContributor(AlgorithmKit):
    def make(self) -> FPL:
        return FPL(precision="float64", triples="own", optimiser="per-contributor", server_alpha=0.3)


class TestInteractions(AlgorithmKit):
    """Triples in proportion to interactions, people's own T, a learning rate that falls."""

    schedule = Schedule(clients=1, rounds_per_epoch=20, epochs=2)
    training = Schedule(clients="all", rounds_per_epoch=100, epochs=2)

    def make(self) -> FPL:
        return FPL(
            precision="float64", factors=6, triples={1: 0.5, 4: 0.5}, sampling="interactions", rate_decay=0.001
        )
