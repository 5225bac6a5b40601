"""Readable mode: the coordinator takes the updates itself. Everything here is labelled
"the server can read each update", and none of it runs unless the operator and the device asked for it by name.

Updates live in memory until the round ends; none is written down.
"""

from __future__ import annotations

import numpy as np

from murmura.core.codec import decode
from murmura.core.contract import FederationInfo, IndividualUpdates, Total
from murmura.core.errors import FederationError
from murmura.core.update import Update
from murmura.server.acceptance import AcceptedReports
from murmura.wire.keys import ServerKey, check_signature
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import REPORT_HEADER, IndividualReport


class IndividualReports:
    """The updates of one round: added up in the ring, or each for itself."""

    def __init__(self, terms: FederationTerms, manifest: Manifest, info: FederationInfo) -> None:
        self._manifest = manifest
        self._phase, self._algorithm = terms.phase(manifest.phase, info), terms.algorithm()
        summed = self._phase.combine == "sum"
        self._chain = terms.chain(manifest.phase, info, manifest.largest) if summed else None
        self._total = np.zeros(self._chain.words if self._chain else 0, np.uint32)
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
            raise RefusedError("malformed", str(error)) from None
        self.unreadable.pop(slot, None)
        self.accepted.accept(upload.report, upload.update, slot, self.left_out.get(slot), upload.mark)

    def _add(self, slot: int, content: bytes) -> None:
        if self._chain is not None:
            self._total += self._chain.ring.unpack(content)
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
