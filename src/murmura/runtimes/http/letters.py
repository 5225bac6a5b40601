"""Readable mode: the coordinator takes the updates itself. Everything here is labelled
"the server can read each update", and none of it runs unless the operator and the device asked for it by name.

Updates live in memory until the round ends; none is written down.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from murmura.core.codec import decode
from murmura.core.errors import FederationError
from murmura.core.federation import Letters, Public, Total
from murmura.core.update import Update
from murmura.runtimes.http.keys import Key, check_signature
from murmura.runtimes.http.manifest import Manifest
from murmura.runtimes.http.refusals import RefusedError
from murmura.runtimes.http.wire import LETTER_HEADER, Letter


@dataclass(frozen=True)
class Counted:
    """Whose updates a round that is over has counted: a receipt that was lost on the way is given again."""

    manifest: bytes  # hash
    largest: int  # bytes of a letter
    digests: Mapping[bytes, bytes]  # report -> hash of its update
    left_out: Mapping[bytes, str]  # report -> why its letter was not used

    def check(self, letter: Letter) -> None:
        """Refuse an update that was not counted, or not used."""
        if self.digests.get(letter.report) != hashlib.sha256(letter.update).digest():
            raise RefusedError("late", "the round of this update is over; it was not counted.")
        if letter.report in self.left_out:
            raise RefusedError("left-out", self.left_out[letter.report])


class Mailbox:
    """The updates of one round: added up in the ring, or each for itself."""

    def __init__(self, manifest: Manifest, public: Public) -> None:
        self._manifest, self._hash = manifest, manifest.hash
        self._phase, self._algorithm = manifest.exchange(public), manifest.algorithm()
        self._chain = manifest.chain(public) if manifest.combine == "sum" else None
        self._total = np.zeros(self._chain.words if self._chain else 0, np.uint32)
        rows = {table.name: table.rows for table in self._phase.sends.tables}
        longest = self._chain.ring.message_bytes if self._chain else self._phase.sends.message_bytes(rows)
        self.largest = LETTER_HEADER + longest  # bytes of a letter
        self._digests: dict[int, bytes] = {}
        self._reports: dict[int, bytes] = {}
        self.left_out: dict[int, str] = {}  # slot -> why its letter is not used
        self.unreadable: dict[int, str] = {}  # slot -> why no letter of it could be read so far
        self._updates: dict[int, Update] = {}

    @property
    def count(self) -> int:
        """How many devices have answered, with letters that are used or not."""
        return len(self._digests)

    @property
    def used(self) -> int:
        """How many updates the server's step gets."""
        return self.count - len(self.left_out)

    def take(self, letter: Letter, slot: int | None, key: Key, now: float) -> None:
        """One update, checked completely before anything changes; the same one again changes nothing."""
        if letter.manifest != self._hash:
            raise RefusedError("replay", "an update must be of the open round's manifest, but is of another.")
        check_signature(key.public, "ticket", letter.manifest + letter.report, letter.ticket)
        if slot is None:
            raise RefusedError("late", "the ticket of this update is no longer known.")
        digest = hashlib.sha256(letter.update).digest()
        if slot in self._digests:
            if self._digests[slot] != digest:
                raise RefusedError(
                    "duplicate", "another update of this device was accepted in this round before."
                )
            return self._tell(slot)
        if now > self._manifest.deadline:
            raise RefusedError("late", f"round {self._manifest.round} is over; the update was not counted.")
        try:
            self._add(slot, letter.update)
        except RefusedError:
            raise
        except FederationError as error:
            self.unreadable[slot] = str(error)
            raise RefusedError("malformed", str(error)) from None
        self._digests[slot], self._reports[slot] = digest, letter.report
        self.unreadable.pop(slot, None)
        self._tell(slot)

    def counted(self) -> Counted:
        """What is kept of the updates when the round is over: who answered, and with which hash."""
        digests = {self._reports[slot]: digest for slot, digest in self._digests.items()}
        left_out = {self._reports[slot]: why for slot, why in self.left_out.items()}
        return Counted(self._hash, self.largest, digests, left_out)

    def _tell(self, slot: int) -> None:
        """Say no to a device whose letter is left out, and why; the round knows that it has answered."""
        if slot in self.left_out:
            raise RefusedError("left-out", self.left_out[slot])

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

    def inbox(self) -> Total | Letters:
        """What the server's step gets."""
        if self._chain is None:
            return Letters({slot: self._updates[slot] for slot in sorted(self._updates)})
        ring = self._chain.ring
        return self._chain.server(ring.wrap(self._total.astype(np.int64)), self._manifest.round)
