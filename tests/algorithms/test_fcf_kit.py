"""Both variants of FCF keep every promise of the kit."""

import pytest

from murmura.algorithms.fcf.fcf import FCF, FCFPaper
from murmura.core.schedule import Schedule
from murmura.testing import AlgorithmKit

pytestmark = pytest.mark.slow


@pytest.mark.smoke
class TestOwnItems(AlgorithmKit):
    """The FPL authors' baseline, with everybody in every round."""

    schedule = Schedule(clients="all", rounds_per_epoch=1, epochs=6)
    training = Schedule(clients="all", rounds_per_epoch=1, epochs=60)

    def make(self) -> FCF:
        return FCF(precision="float64", factors=6)


class TestOwnItemsInCohorts(AlgorithmKit):
    """Some clients a round, more factors than items, and a last solve before ranking."""

    def make(self) -> FCF:
        return FCF(precision="float64", factors=23, refresh=True)


class TestEveryItem(AlgorithmKit):
    """As its paper has it."""

    schedule = Schedule(clients="all", rounds_per_epoch=1, epochs=6)
    training = Schedule(clients="all", rounds_per_epoch=1, epochs=60)

    def make(self) -> FCFPaper:
        return FCFPaper(precision="float64", factors=6)


class TestEveryItemInCohorts(AlgorithmKit):
    def make(self) -> FCFPaper:
        return FCFPaper(precision="float64", factors=9, alpha=40.0, values="raw", refresh=False)
