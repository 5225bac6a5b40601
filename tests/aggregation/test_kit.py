"""Weighted methods keep every promise of the contract, whichever way their criteria travel."""

from typing import Any, Literal

import pytest

from murmura.aggregation.weighted import weighted
from murmura.aggregation.weighting import Weighting
from murmura.algorithms.fcf.fcf import FCF
from murmura.algorithms.fpl.fpl import FPL
from murmura.algorithms.kgflex.kgflex import KGFlex
from murmura.core.contract import Algorithm
from murmura.core.schedule import Schedule
from murmura.testing import AlgorithmKit

pytestmark = pytest.mark.slow
EXPERTISE = Weighting(criteria=("category_diversity", "dataset_size"))
MEAN: dict[str, Any] = {"criteria": ("dataset_size", "long_tail"), "score": "mean", "importance": (3, 1)}
LEARNED: dict[str, Any] = {"criteria": ("model_divergence", "update_novelty"), "score": "owa"}


def sent(way: Literal["sums", "values"], values: dict[str, Any]) -> Weighting:
    return Weighting(criteria_sent=way, **values)


@pytest.mark.smoke
class TestFCFBySums(AlgorithmKit):
    """Everybody in every round."""

    schedule = Schedule(clients="all", rounds_per_epoch=1, epochs=6)
    training = Schedule(clients="all", rounds_per_epoch=1, epochs=60)

    def make(self) -> Algorithm:
        return weighted(FCF(precision="float64", factors=6), sent("sums", MEAN))


class TestFCFByValues(AlgorithmKit):
    schedule = Schedule(clients="all", rounds_per_epoch=1, epochs=6)
    training = Schedule(clients="all", rounds_per_epoch=1, epochs=60)

    def make(self) -> Algorithm:
        return weighted(FCF(precision="float64", factors=6), sent("values", MEAN))


class CohortFPL(AlgorithmKit):  # collected by its heirs alone
    """cFPL: an exchange before training, AdaGrad, local passes."""

    weighting: Weighting

    def make(self) -> Algorithm:
        inner = FPL(
            factors=4, alpha=0.1, precision="float64", triples="own", optimiser="adagrad", warm=1, prior=True
        )
        return weighted(inner, self.weighting)


class TestFPLBySums(CohortFPL):
    weighting = EXPERTISE


class TestFPLByValues(CohortFPL):
    weighting = sent("values", {"criteria": ("category_diversity", "dataset_size")})


class TestFPLBySumsAfterTraining(CohortFPL):
    """Every round trains twice: the criteria are of the update."""

    weighting = sent("sums", LEARNED)


class TestKGFlexBySums(AlgorithmKit):
    training = Schedule(clients="all", rounds=60)

    def make(self) -> Algorithm:
        return weighted(KGFlex(factors=3, precision="float64", optimiser="per-contributor"), EXPERTISE)


class TestKGFlexByValues(AlgorithmKit):
    training = Schedule(clients="all", rounds=60)

    def make(self) -> Algorithm:
        return weighted(KGFlex(factors=3, precision="float64"), sent("values", LEARNED))
