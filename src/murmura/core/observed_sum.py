"""A released sum of a round, as whoever reads the server's books sees it: for audits of methods that sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from murmura.core.arrays import Ints
from murmura.core.contract import FederationInfo, Phase, Total
from murmura.core.update import Arrays


@dataclass(frozen=True, eq=False)
class ObservedSum:
    """What the server received in one exchange, after all its channel did, and who was in it (worst case)."""

    phase: Phase
    round: int
    clients: Ints  # (cohort,) ascending
    info: FederationInfo  # what everybody knew
    model: Arrays  # the public model before the server's step
    total: Total


SumObserver = Callable[[ObservedSum], None]  # a simulation can be asked to show every sum to one
