"""KGFlex and its hybrid keep every promise of the contract."""

from murmura.algorithms.kgflex.hybrid import KGFlexHybrid
from murmura.algorithms.kgflex.kgflex import KGFlex
from murmura.core.contract import Algorithm
from murmura.core.schedule import Schedule
from murmura.testing import AlgorithmKit


class TestKGFlex(AlgorithmKit):
    training = Schedule(clients="all", rounds=60)

    def make(self) -> Algorithm:
        return KGFlex(factors=3, precision="float64")


class TestCohorts(AlgorithmKit):
    training = Schedule(clients="all", rounds=60)

    def make(self) -> Algorithm:
        return KGFlex(
            factors=3,
            precision="float64",
            negatives=5,
            measure="gain-ratio",
            drawn="popular",
            visit="root",
            clip_update=0.5,
            optimiser="per-contributor",
            unshared="keep",
            first_limit=2,
            second_limit=3,
            reg=0.02,
        )


class TestHybrid(AlgorithmKit):
    training = Schedule(clients="all", rounds=60)

    def make(self) -> Algorithm:
        return KGFlexHybrid(factors=3, item_factors=4, item_reg=2.0, gamma=0.1, weight=0.5, precision="float64")
