"""The named configurations of FedSPLIT: as printed, its groups alone, and ours."""

from __future__ import annotations

from typing import ClassVar

from murmura.algorithms.fedsplit import Bias, FedSplit, Finish
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
