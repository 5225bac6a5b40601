"""How a coordinator that was restored from a copy goes on after what others have logged since.

Its model is that of the copy: the rounds that were logged since are lost to it, as after a rollback. Every
number they have used is used: serials, rounds and with them the randomness of devices go on above the highest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from murmura.core.errors import RunError
from murmura.engine.itinerary import Position
from murmura.server.coordinator.public_log import CAME, LEFT, PublicLog
from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.wire.log import ResumedLog
from murmura.wire.manifest import Manifest
from murmura.wire.terms import FederationTerms, LostLog

HELD = "held"  # the fact that keeps how long the log was in the copy that this machine was restored from
RESUMED = "resumed"  # the fact that keeps why it goes on from an older model
LOST = "lost log"  # the fact that keeps where the log ends, whose newest entries nobody has
UNKNOWN_NUMBERS = 1 << 20  # of rounds that may have been used in entries that nobody has
WHY = "this machine was restored from an older copy"


class LogTakeover:
    """What a restored coordinator writes down before it goes on."""

    def __init__(self, store: ServerDatabase, log: PublicLog) -> None:
        self._store, self._log = store, log
        self.log_lost: int | None = None  # nobody has more than so many entries of the log, says the operator

    def goes_on(self, fresh: Sequence[bytes], now: float) -> bool:
        """Whether this machine goes on from a copy: after what others have logged, or after what is left."""
        if fresh:
            self.take_over(fresh)
        if self.log_lost is not None:
            self.declare_lost(self.log_lost, now)
        return self.due

    def take_over(self, entries: Sequence[bytes]) -> None:
        """What others have logged beyond this machine's copy: its rounds are lost, its numbers are used."""
        newest = self._log.newest(b"manifest")  # of a round that was open in the copy, or of the last one
        used, changes, numbers = [Manifest.decode(newest)] if newest else [], list[Statement](), [0]
        for kind, _, content in (entry.partition(b"\0") for entry in entries):
            if kind == b"terms":
                terms = FederationTerms.decode(content)
                changes.append(put_fact("windows begin", str(int(terms.windows.start)).encode()))
                if terms.lost is not None:
                    changes.append(put_fact(LOST, json.dumps(asdict(terms.lost)).encode()))
                    numbers.append(terms.lost.serial)
            if kind == b"manifest":
                used.append(m := Manifest.decode(content))
                row = "INSERT INTO rounds VALUES (?, ?, ?, NULL, x'', 'lost', NULL, NULL, ?)"
                changes.append((row, (m.serial, m.hash, content, WHY)))
        at = Position.decode(self._store.fact("progress") or b"{}")
        rounds, serials = [m.round + 1 for m in used], [m.serial + 1 for m in used]
        at = Position(at.done, 0, max(at.round, *rounds, *numbers), max(at.serial, *serials, *numbers))
        held = self._store.fact(HELD) or str(len(self._log)).encode()
        # nobody knows who has left since the copy, so somebody may have
        changes += [put_fact("progress", at.encode()), put_fact(HELD, held), put_fact(CAME, b"0")]
        changes.append(put_fact(LEFT, b"1"))
        lost = "UPDATE rounds SET state = 'lost', reason = ?, called = x'' WHERE state = 'open'"
        self._log.append(entries, [(lost, (WHY,)), *changes], forget=True)

    def declare_lost(self, entries: int, now: float) -> None:
        """The operator says that nobody has the log after so many entries: every owner will be asked to go on.

        Numbers go on far above any that the lost rounds can have used. Where the same copy is restored
        again, nobody has the first loss either: the time is above its numbers, and tells the two apart.
        """
        known = self.lost
        if known is not None and known.entries == entries:
            return
        if entries != len(self._log):
            raise RunError(
                f"--log-lost must be {len(self._log)}, the entries of the log that this machine and both "
                f"aggregators have, but is {entries}."
            )
        at = Position.decode(self._store.fact("progress") or b"{}")
        number = max(max(at.serial, at.round) + UNKNOWN_NUMBERS, int(now))
        lost = LostLog(entries, self._log.tree.root().hex(), number)
        after = Position(at.done, 0, number, number)
        given_up = "UPDATE rounds SET state = 'lost', reason = ?, called = x'' WHERE state = 'open'"
        facts = {
            LOST: json.dumps(asdict(lost)),
            HELD: str(entries),
            "progress": after.encode().decode(),
            LEFT: "1",
        }
        kept = [put_fact(name, text.encode()) for name, text in facts.items()]
        self._store.write([(given_up, (WHY,)), *kept, put_fact(CAME, b"0")], durable=True, forget=True)

    @property
    def lost(self) -> LostLog | None:
        """Where the log ends whose newest entries nobody has."""
        kept = self._store.fact(LOST)
        return None if kept is None else LostLog(**json.loads(kept))

    @property
    def due(self) -> bool:
        """Whether a log was taken over, and nobody sees in it yet from which model this machine goes on."""
        return self._store.fact(HELD) is not None

    def resume(self, done: int, model: bytes) -> None:
        """Everybody sees in the log from which model the federation goes on; `model` is its entry."""
        held = int(self._store.fact(HELD) or b"0")
        lost = self.lost is not None and self.lost.entries == held
        how = (
            "entries of the log; nobody has what came after, so every owner is asked"
            if lost
            else f"entries of the log; {len(self._log) - held} were taken over, and their rounds are lost"
        )
        said = f"resumed at model {done}: this machine was restored from a copy with {held} {how}"
        kept = [put_fact(RESUMED, said.encode()), ("DELETE FROM facts WHERE name = ?", (HELD,))]
        models = [model] if self._log.newest(b"manifest") else []
        self._log.append([ResumedLog(held, done).entry(), *models], kept)

    @property
    def said(self) -> str:
        """Why the federation has gone on from an older model, "" where it has not."""
        return (self._store.fact(RESUMED) or b"").decode()
