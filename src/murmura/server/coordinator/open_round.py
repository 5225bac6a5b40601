"""What the coordinator holds in memory alone: the round at work, and how many there have been."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from murmura.server.coordinator.individual_reports import IndividualReports
from murmura.server.coordinator.store import Presence
from murmura.wire.manifest import Manifest


@dataclass
class OpenRound:
    """The round at work."""

    manifest: Manifest
    hash: bytes
    called: frozenset[int]
    envelope: bytes = b""  # as devices get it, once everybody has signed
    published: bool = False
    reports: int = 0
    tickets: dict[int, bytes] = field(default_factory=dict)  # slot -> its one report; never written down
    individual_reports: IndividualReports | None = None  # in readable mode only
    summed: frozenset[int] = frozenset()  # slots whose reports the sum is of; never written down

    def holders(self, reports: Iterable[bytes]) -> frozenset[int]:
        """Whose reports these are, as far as this process gave them tickets."""
        named = set(reports)
        return frozenset(slot for slot, given in self.tickets.items() if given in named)

    def holder(self, report: bytes) -> int | None:
        """Whose report id this is."""
        return next((slot for slot, given in self.tickets.items() if given == report), None)

    @property
    def presence(self) -> Presence:
        """Who came of those who were called; nobody is missed in a round that was never published."""
        return frozenset(self.tickets), self.called if self.published else frozenset()


@dataclass
class RoundCounters:
    """For the operator's metrics, since the start of this process."""

    committed: int = 0
    abandoned: int = 0
    void: int = 0  # of these, those whose sum broke the bounds
    cut: int = 0  # sums of the opening that broke the bounds, cut to what is possible
