"""What left a client, as whoever reads it on its way sees it; a simulation can be asked to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from murmura.core.update import Arrays, Update


@dataclass(frozen=True, eq=False)
class SentUpdate:
    """One update of one client, with the public model it answered."""

    phase: str
    round: int
    client: int
    model: Arrays  # the same for everyone in the round
    update: Update


UpdateObserver = Callable[[SentUpdate], None]
