"""The named configurations of FPL: the four published ones, and cohorts for a real federation."""

from __future__ import annotations

from typing import ClassVar, Literal

from murmura.algorithms.fpl.fpl import FPL, Count, Rate, Times
from murmura.algorithms.optimisers import Optimiser
from murmura.algorithms.preset import Preset
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.federation import Algorithm
from murmura.core.schedule import Schedule
from murmura.core.settings import settings


@settings
class SFPL(Preset, FPL, Schedule, Consent, ChannelSettings):
    """sFPL: one client a round, one triple: sequential training, as of a centralised BPR."""

    name: ClassVar[str] = "sfpl"
    method: ClassVar[type[Algorithm]] = FPL


@settings
class SFPLPlus(SFPL):
    """sFPL+: one client a round, T = floor(X+ / |U|) triples."""

    name: ClassVar[str] = "sfpl+"
    triples: Count | Literal["mean", "own"] = "mean"


@settings
class PFPL(SFPL):
    """pFPL: all clients in every round, one triple each."""

    name: ClassVar[str] = "pfpl"
    clients: Count | Literal["all"] = "all"


@settings
class PFPLPlus(PFPL):
    """pFPL+: all clients in every round, T = floor(X+ / |U|) triples each."""

    name: ClassVar[str] = "pfpl+"
    triples: Count | Literal["mean", "own"] = "mean"


@settings
class CFPL(SFPL):
    """cFPL, ours: cohorts of 500, T = |I_u|, AdaGrad on the server, local passes, biases from shared counts.

    An epoch visits everyone once on average.
    """

    name: ClassVar[str] = "cfpl"
    triples: Count | Literal["mean", "own"] = "own"
    clients: Count | Literal["all"] = 500
    rounds_per_epoch: Count | Literal["visits", "triples"] = "triples"
    optimiser: Optimiser = "adagrad"
    server_alpha: Rate | None = 0.1
    warm: Times = 2
    refresh: Times = 2
    prior: bool = True
