"""How a coordinator that was restored from a copy goes on after what others have logged since.

Its model is that of the copy: the rounds that were logged since are lost to it, as after a rollback. Every
number they have used is used: serials, rounds and with them the randomness of devices go on above the highest.
"""

from __future__ import annotations

from collections.abc import Sequence

from murmura.engine.itinerary import Position
from murmura.server.coordinator.public_log import CAME, LEFT, PublicLog
from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.wire.log import ResumedLog
from murmura.wire.manifest import Manifest
from murmura.wire.terms import FederationTerms

HELD = "held"  # the fact that keeps how long the log was in the copy that this machine was restored from
RESUMED = "resumed"  # the fact that keeps why it goes on from an older model
WHY = "this machine was restored from an older copy"


class LogTakeover:
    """What a restored coordinator writes down before it goes on."""

    def __init__(self, store: ServerDatabase, log: PublicLog) -> None:
        self._store, self._log = store, log

    def take_over(self, entries: Sequence[bytes]) -> None:
        """What others have logged beyond this machine's copy: its rounds are lost, its numbers are used."""
        newest = self._log.newest(b"manifest")  # of a round that was open in the copy, or of the last one
        used, changes = [Manifest.decode(newest)] if newest else [], list[Statement]()
        for kind, _, content in (entry.partition(b"\0") for entry in entries):
            if kind == b"terms":
                start = FederationTerms.decode(content).windows.start
                changes.append(put_fact("windows begin", str(int(start)).encode()))
            if kind == b"manifest":
                used.append(m := Manifest.decode(content))
                row = "INSERT INTO rounds VALUES (?, ?, ?, NULL, x'', 'lost', NULL, NULL, ?)"
                changes.append((row, (m.serial, m.hash, content, WHY)))
        at = Position.decode(self._store.fact("progress") or b"{}")
        for m in used:
            at = Position(at.done, 0, max(at.round, m.round + 1), max(at.serial, m.serial + 1))
        held = self._store.fact(HELD) or str(len(self._log)).encode()
        # nobody knows who has left since the copy, so somebody may have
        changes += [put_fact("progress", at.encode()), put_fact(HELD, held), put_fact(CAME, b"0")]
        changes.append(put_fact(LEFT, b"1"))
        lost = "UPDATE rounds SET state = 'lost', reason = ?, called = x'' WHERE state = 'open'"
        self._log.append(entries, [(lost, (WHY,)), *changes], forget=True)

    @property
    def due(self) -> bool:
        """Whether a log was taken over, and nobody sees in it yet from which model this machine goes on."""
        return self._store.fact(HELD) is not None

    def resume(self, done: int, model: bytes) -> None:
        """Everybody sees in the log from which model the federation goes on; `model` is its entry."""
        held = int(self._store.fact(HELD) or b"0")
        said = (
            f"resumed at model {done}: this machine was restored from a copy with {held} "
            f"entries of the log; {len(self._log) - held} were taken over, and their rounds are lost"
        )
        kept = [put_fact(RESUMED, said.encode()), ("DELETE FROM facts WHERE name = ?", (HELD,))]
        models = [model] if self._log.newest(b"manifest") else []
        self._log.append([ResumedLog(held, done).entry(), *models], kept)

    @property
    def said(self) -> str:
        """Why the federation has gone on from an older model, "" where it has not."""
        return (self._store.fact(RESUMED) or b"").decode()
