"""Which rounds an aggregator has opened and released, on its disk: each manifest once, each window once.

What has been released is written down first and is final; once the coordinator has it, nothing of the round
stays but its number and its hash. A restart during a round loses its shares: the round is answered "lost".
"""

from __future__ import annotations

from collections.abc import Iterable

from murmura.core.contract import Phase
from murmura.server.admissions import before_window
from murmura.server.database import ServerDatabase, Statement
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError, forged
from murmura.wire.terms import ReleaseWindows

REMEMBERED_ROUNDS = 1000  # how many past rounds an aggregator remembers


class RoundRegister:
    """The rounds of one aggregator."""

    def __init__(self, store: ServerDatabase) -> None:
        self._store = store
        if store.row("SELECT 1 FROM rounds WHERE state = 'open'"):
            store.write([("UPDATE rounds SET state = 'lost' WHERE state = 'open'", ())], durable=True)

    def has(self, manifest: Manifest, logged: int) -> bool:
        """Whether this round was released here; refuses a lost one, another of its number, an earlier one.

        A machine that was restored from a copy has forgotten rounds: `logged` is the newest in the log.
        """
        known = self._store.row("SELECT hash, state FROM rounds WHERE serial = ?", (manifest.serial,))
        if known is not None:
            if known[0] != manifest.hash:
                raise RefusedError("replay", f"manifest {manifest.serial} is known here with another content.")
            if known[1] != "released":
                raise RefusedError("lost", f"the shares of round {manifest.round} are lost; give the round up.")
            return True
        last = max(self._store.value("SELECT max(serial) FROM rounds") or 0, logged)
        if manifest.serial < last:
            raise RefusedError("replay", f"a manifest must come after {last}, but is number {manifest.serial}.")
        return False

    def check_window(self, windows: ReleaseWindows, manifest: Manifest, phase: Phase, now: float) -> None:
        """Refuse another window than that of this machine's clock, and a second sum of the opening in one."""
        if not windows.is_at(manifest.window, now):
            raise forged(f"a round must lie in the window of its time, but says {manifest.window}.")
        before = self._store.value("SELECT max(opened_in) FROM rounds") or 0
        if manifest.window < before:
            raise RefusedError("replay", f"window {manifest.window} must not come after {before}.")
        if phase.repeat is None:
            return
        counted = "SELECT count(*) FROM rounds WHERE phase = ? AND opened_in = ? AND state = 'released'"
        if self._store.value(counted, (phase.name, manifest.window)) >= phase.repeat:
            raise RefusedError(
                "released",
                f"phase '{phase.name}' has been released in window {manifest.window}; two sums would differ by "
                "the clients that joined in between: wait for the next window.",
            )

    def begin(self, manifest: Manifest) -> None:
        """A round is open from now on; the one before it is given up, if it is."""
        row = (manifest.serial, manifest.hash, "open", manifest.phase, manifest.window, None, None)
        old = (manifest.serial - REMEMBERED_ROUNDS, manifest.window)
        self._store.write(
            [
                ("UPDATE rounds SET state = 'dropped' WHERE state = 'open'", ()),
                ("UPDATE rounds SET ids = NULL, total = NULL WHERE total IS NOT NULL", ()),
                ("DELETE FROM rounds WHERE serial < ? AND opened_in < ?", old),
                before_window(manifest.window),
                ("INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?)", row),
            ],
            durable=True,
            forget=True,
        )

    def release(self, name: bytes, ids: bytes, total: bytes, beside: Iterable[Statement]) -> None:
        """A sum over these reports is final, with what else is known of it: both are written, or neither."""
        final = ("UPDATE rounds SET state = 'released', ids = ?, total = ? WHERE hash = ?", (ids, total, name))
        self._store.write([final, *beside], durable=True)

    def forget(self, name: bytes) -> None:
        """The coordinator has the sum: forget it, and which reports it is of."""
        gone = "UPDATE rounds SET ids = NULL, total = NULL WHERE hash = ? AND state = 'released'"
        self._store.write([(gone, (name,))], durable=True, forget=True)

    @property
    def longest_list(self) -> int:
        """The bytes of the last list that was released: after a restart it may be asked for again."""
        return self._store.value("SELECT max(length(ids)) FROM rounds WHERE total IS NOT NULL") or 0

    def released(self, name: bytes) -> tuple[bytes, bytes] | None:
        """The list and the sum of a round that was released; None of another one."""
        found = self._store.row("SELECT ids, total FROM rounds WHERE hash = ? AND state = 'released'", (name,))
        if found is None:
            return None
        if found[1] is None:
            raise RefusedError("late", "the sum of this round has been handed out and is no longer kept.")
        return bytes(found[0]), bytes(found[1])

    def absent(self, name: bytes) -> RefusedError:
        """Why a round is not open."""
        state = self._store.value("SELECT state FROM rounds WHERE hash = ?", (name,))
        if state is None:
            return RefusedError("unknown", "this aggregator was never asked to open that round.")
        if state == "released":
            return RefusedError("released", "the sum of this round has been released.")
        return RefusedError("lost", "the shares of this round are lost; give the round up.")
