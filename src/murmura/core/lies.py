"""What a simulation asks those who lie in it: an update of their own making, sent instead of the honest one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from murmura.core.arrays import Bools, Ints
from murmura.core.contract import Phase, RoundContext
from murmura.core.update import Update


@dataclass(frozen=True, eq=False)
class Lie:
    """What each liar of a round sends: clipped and rounded like every update, or as long as the sum may be."""

    update: Update
    beyond: float | None = None  # without the clip: a share of what the sum may be long


class Liars(Protocol):
    """Clients who work together against a federation."""

    def among(self, phase: Phase, round: int, clients: Ints) -> Bools:
        """Which of the clients called lie in this exchange."""

    def lie(self, phase: Phase, context: RoundContext) -> Lie | None:
        """What each of them sends; None: this time they are honest."""
