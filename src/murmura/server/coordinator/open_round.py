"""What the coordinator holds in memory alone: the round at work, and how many there have been.

In readable mode it takes the updates itself: everything about them is labelled "the server can read each
update", and none of it runs unless the operator and the device asked for it by name. Updates live in memory
until the round ends; none is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from murmura.core.codec import decode
from murmura.core.contract import FederationInfo, IndividualUpdates, Total
from murmura.core.errors import FederationError
from murmura.core.update import Update
from murmura.server.admissions import AcceptedReports
from murmura.server.coordinator.store import Presence
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError, malformed
from murmura.wire.signed_records import ServerKey, check_signature
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import REPORT_HEADER, IndividualReport


class IndividualReports:
    """The updates of one round: added up in the ring, or each for itself."""

    def __init__(self, terms: FederationTerms, manifest: Manifest, info: FederationInfo) -> None:
        self._manifest = manifest
        self._phase, self._algorithm = terms.phase(manifest.phase, info), terms.algorithm()
        summed = self._phase.combine == "sum"
        self._chain = terms.chain(manifest.phase, info, manifest.largest) if summed else None
        self._total = np.zeros(self._chain.words, self._chain.ring.word) if self._chain else np.zeros(0)
        rows = {table.name: table.rows for table in self._phase.sends.tables}
        longest = self._chain.ring.message_bytes if self._chain else self._phase.sends.message_bytes(rows)
        duplicate = "another update of this device was accepted in this round before."
        self.accepted = AcceptedReports(manifest, REPORT_HEADER + longest, "update", duplicate)
        self.left_out: dict[int, str] = {}  # slot -> why its update is not used
        self.unreadable: dict[int, str] = {}  # slot -> why no update of it could be read so far
        self._updates: dict[int, Update] = {}

    @property
    def count(self) -> int:
        """How many devices have answered, with updates that are used or not."""
        return len(self.accepted.reports)

    @property
    def used(self) -> int:
        """How many updates the server's step gets."""
        return self.count - len(self.left_out)

    def take(self, upload: IndividualReport, slot: int | None, key: ServerKey, now: float) -> None:
        """One update, checked completely before anything changes; the same one again changes nothing."""
        if upload.manifest != self.accepted.manifest:
            raise RefusedError("replay", "an update must be of the open round's manifest, but is of another.")
        check_signature(key.public, "ticket", upload.manifest + upload.report, upload.ticket)
        if slot is None:
            raise RefusedError("late", "the ticket of this update is no longer known.")
        if self.accepted.repeats(upload.report, upload.update, upload.mark):
            return
        self.accepted.check_new(upload.report, now, slot)
        try:
            self._add(slot, upload.update)
        except RefusedError:
            raise
        except FederationError as error:
            self.unreadable[slot] = str(error)
            raise malformed(str(error)) from None
        self.unreadable.pop(slot, None)
        why = self.left_out.get(slot)
        left_out = None if why is None else RefusedError("left-out", why)
        self.accepted.accept(upload.report, upload.update, slot, left_out, upload.mark)

    def _add(self, slot: int, content: bytes) -> None:
        if self._chain is not None:
            vector = self._chain.ring.unpack(content)
            if self._chain.possible(vector, self._manifest.round, 1)[1]:
                raise FederationError("an update must keep the bounds of one device, but does not.")
            self._total += vector
            return
        update = decode(content, self._phase.sends)
        why = self._algorithm.server_refuses(self._phase, update)
        if why is None:
            self._updates[slot] = update
        else:
            self.left_out[slot] = why

    def received(self) -> Total | IndividualUpdates:
        """What the server's step gets."""
        if self._chain is None:
            return IndividualUpdates({slot: self._updates[slot] for slot in sorted(self._updates)})
        ring = self._chain.ring
        return self._chain.server(ring.wrap(self._total.astype(np.int64)), self._manifest.round)


@dataclass
class OpenRound:
    """The round at work."""

    manifest: Manifest
    called: frozenset[int]
    envelope: bytes = b""  # as devices get it, once everybody has signed
    published: bool = False
    reports: int = 0
    tickets: dict[int, bytes] = field(default_factory=dict)  # slot -> its one report; never written down
    individual_reports: IndividualReports | None = None  # in readable mode only
    summed: frozenset[int] = frozenset()  # slots whose reports the sum is of; never written down

    @property
    def hash(self) -> bytes:
        """Of the manifest."""
        return self.manifest.hash

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


RELATIVE, LONGEST = 0.1, 1.0  # a round may last a tenth longer, and a second at most, because nobody asked
UNFINISHED = 5.0  # seconds between questions while not everybody has a ticket: a round cannot be complete yet


class PollingInterval:
    """Between two questions as long as a tenth of what the round has lasted, and at most a second.

    So small federations lose a tenth of a second, large ones are asked for once a second, and nobody is asked
    before a device may have sent. While tickets are missing a question only tells the operator how far it is,
    or a coordinator that was restarted and knows of none what was sent before.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._asked = clock, 0.0

    def due(self, live: OpenRound | None) -> bool:
        """Whether it is time to move on; always while no aggregator collects."""
        if live is None or not live.published or live.individual_reports is not None:
            return True
        now, began = self._clock(), live.manifest.opened + live.manifest.hold
        if now > live.manifest.deadline or now < self._asked:  # also where the clock was put back
            self._asked = now
            return True
        complete = len(live.tickets) >= live.manifest.called
        wait = min(LONGEST, RELATIVE * (now - began)) if complete else UNFINISHED
        if now < began or now - self._asked < wait:
            return False
        self._asked = now
        return True
