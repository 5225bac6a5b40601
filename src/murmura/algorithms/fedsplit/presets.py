"""The named configurations of FedSPLIT: as printed, its groups alone, and ours."""

from __future__ import annotations

from typing import ClassVar

from murmura.algorithms.fedsplit.co_statistics import CoStatistics
from murmura.algorithms.fedsplit.fedsplit import Bias, FedSplit, Finish
from murmura.algorithms.fedsplit.item_means import ItemMeans
from murmura.algorithms.fedsplit.svd import FedSplitSvd
from murmura.algorithms.preset import Preset
from murmura.core.consent import Consent
from murmura.core.federation import Algorithm
from murmura.core.grouping import Grouping
from murmura.core.schedule import Schedule
from murmura.core.settings import field_names, settings

ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)  # every exchange happens once, with everyone


class OneShot(Preset):
    """A named configuration of groups that exchange something once: there is no schedule to choose."""

    def schedule(self) -> Schedule:
        """Everyone, once."""
        return ONCE

    def grouping(self) -> Grouping:
        """Who shares a client."""
        return Grouping(**{name: getattr(self, name) for name in field_names(Grouping)})


@settings
class FedSplitPrinted(OneShot, FedSplit, Consent, Grouping):
    """FedSPLIT as printed: the item biases averaged over all groups, W M' on the client."""

    name: ClassVar[str] = "fedsplit"
    method: ClassVar[type[Algorithm]] = FedSplit


@settings
class GroupsAlone(FedSplitPrinted):
    """Every group's own factorisation with the mean of all groups, and no other exchange."""

    name: ClassVar[str] = "cnmf-groups"
    finish: Finish = "local"


@settings
class FedSplitRidge(FedSplitPrinted):
    """Ours: item means and counts travel with H; everyone's factors are solved anew against the patterns."""

    name: ClassVar[str] = "fedsplit-ridge"
    bias: Bias = "means"
    finish: Finish = "ridge"


@settings
class FedSplitOfVectors(OneShot, FedSplitSvd, Consent, Grouping):
    """Ours: singular vectors of ratings and of who rated what in place of non-negative factors."""

    name: ClassVar[str] = "fedsplit-svd"
    method: ClassVar[type[Algorithm]] = FedSplitSvd


@settings
class CoStatisticsOfGroups(OneShot, CoStatistics, Consent, Grouping):
    """Ours: summed products of item pairs; the groups only say over whom errors are averaged."""

    name: ClassVar[str] = "co-statistics"
    method: ClassVar[type[Algorithm]] = CoStatistics

    def schedule(self) -> Schedule:
        """Everyone, once; the sums so far are large, so they are saved every 16 blocks."""
        return Schedule(clients="all", rounds_per_epoch=16, epochs=1)


@settings
class ItemMeansOfGroups(OneShot, ItemMeans, Consent, Grouping):
    """No factors at all: summed item means, and a user bias on the client."""

    name: ClassVar[str] = "item-means"
    method: ClassVar[type[Algorithm]] = ItemMeans
