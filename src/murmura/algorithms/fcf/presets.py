"""The named configurations of FCF: one round with every client is an epoch."""

from __future__ import annotations

from typing import ClassVar, Literal

from murmura.algorithms.fcf.fcf import FCF, Count, FCFPaper
from murmura.algorithms.preset import Preset
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.federation import Algorithm
from murmura.core.schedule import Schedule
from murmura.core.settings import settings


@settings
class FCFBaseline(Preset, FCF, Schedule, Consent, ChannelSettings):
    """fcf: the baseline in the tables of FedeRank and FPL, as its authors' code computes it."""

    name: ClassVar[str] = "fcf"
    method: ClassVar[type[Algorithm]] = FCF
    clients: Count | Literal["all"] = "all"
    rounds_per_epoch: Count | Literal["visits", "triples"] = 1


@settings
class FCFPublished(Preset, FCFPaper, Schedule, Consent, ChannelSettings):
    """fcf-paper: as its own paper describes it."""

    name: ClassVar[str] = "fcf-paper"
    method: ClassVar[type[Algorithm]] = FCFPaper
    clients: Count | Literal["all"] = "all"
    rounds_per_epoch: Count | Literal["visits", "triples"] = 1
    epochs: Count = 30
