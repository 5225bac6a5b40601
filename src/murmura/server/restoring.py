"""What a copy of a server holds, and what will happen when the server goes on from it."""

from __future__ import annotations

import shutil
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from murmura.core.errors import MurmuraError, RunError
from murmura.device.log_mirror import LogMirror
from murmura.engine.itinerary import Position
from murmura.server.coordinator.public_log import PublicLog
from murmura.server.coordinator.takeover import LogTakeover
from murmura.server.coordinator.witnesses import check_following, logged
from murmura.server.database import ServerDatabase, copy_database, read_only
from murmura.wire.log import MerkleTree, leaf_hash
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import Transport

FILES = ("operator.token", "seed")  # beside the databases
NO_MORE = (
    "no machine that answers has more. If devices have seen more entries, they send nothing. Then restore with "
    "--mirror, or the newest copies, or start with --log-lost, which asks every owner."
)


@dataclass(frozen=True)
class ServerCopy:
    """A folder of a coordinator or of an aggregator."""

    path: Path
    role: str
    entries: int  # of the log
    done: int  # rounds that its model has seen; 0 of an aggregator
    terms: FederationTerms | None  # that it had agreed to

    @staticmethod
    def find(path: Path) -> ServerCopy:
        """What is in a folder, which is not changed; refuses one without a server's file."""
        for role in ("coordinator", "aggregator"):
            file = path / f"{role}.db"
            if not file.exists():
                continue
            db = read_only(file)
            try:
                facts = dict(db.execute("SELECT name, value FROM facts WHERE name IN ('terms', 'progress')"))
                ((entries,),) = db.execute("SELECT count(*) FROM log")
            except sqlite3.Error as error:
                raise RunError(f"{file} must be the file of a {role}, but cannot be read ({error}).") from None
            finally:
                db.close()
            done = Position.decode(facts["progress"]).done if "progress" in facts else 0
            terms = FederationTerms.decode(facts["terms"]) if "terms" in facts else None
            return ServerCopy(path, role, entries, done, terms)
        raise RunError(f"{path} must be the folder of a coordinator or an aggregator, but has no file of one.")

    @property
    def sentence(self) -> str:
        """What it is."""
        model = f", model {self.done}" if self.role == "coordinator" else ""
        name = "no terms yet" if self.terms is None else f"terms {self.terms.hash.hex()[:16]}…"
        return f"{self.role}, {self.entries} entries of the log{model}, {name}"


def copy_folder(state: Path, to: Path) -> None:
    """A consistent copy of all that a server keeps, also of one that is at work."""
    for path in sorted(state.glob("*.db")):
        copy_database(path, to / path.name)
    for name in FILES:
        if (state / name).exists():
            shutil.copy2(state / name, to / name)


async def foreseen(send: Transport, copy: ServerCopy, mirror: Path | None) -> list[str]:
    """What will happen, a line each; who does not answer is said."""
    if copy.role == "aggregator":
        return [
            "the coordinator sends it what it lacks of the log and of revocations; it opens no round again "
            "that the log has left behind, and nobody is asked."
        ]
    lines, longest = [], copy.entries
    if mirror is not None:
        held = len(LogMirror(mirror).read()[0])
        lines.append(f"the mirror has {held} entries, signed by all machines.")
        longest = max(longest, held)
    for address in [] if copy.terms is None else copy.terms.aggregators:
        try:
            size, _ = await logged(send, address.url)
            lines.append(f"{address.url} has {size} entries.")
            longest = max(longest, size)
        except MurmuraError as error:
            lines.append(f"{error} It must answer before the coordinator goes on.")
    more = longest - copy.entries
    goes_on = (
        f"it takes over {more} entries and goes on from model {copy.done}. The rounds since are lost. "
        "No number is used again, and nobody is asked."
    )
    return [*lines, goes_on if more else NO_MORE]


def take_over_mirror(state: Path, mirror: Path) -> None:
    """Write down in a coordinator's folder what a mirror of its log has more; refuses another federation's."""
    entries, head = LogMirror(mirror).read()
    store = ServerDatabase(state / "coordinator.db", "coordinator")
    try:
        log = PublicLog(store)
        if head is None or head.size <= len(log):
            return
        if log.tree.root() != MerkleTree(list(map(leaf_hash, entries[: len(log)]))).root():
            raise RunError(f"the mirror {mirror} must begin with the log of the copy, but has other entries.")
        federation, key = (store.fact("federation") or b"").hex(), store.signing_key()
        check_following(log, entries[len(log) :], federation, key, str(mirror), time.time())
        LogTakeover(store, log).take_over(entries[len(log) :])
    finally:
        store.close()
