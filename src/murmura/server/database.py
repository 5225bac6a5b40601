"""What a server keeps: one SQLite file in WAL mode. No update and no share of one is ever written here,
but for what links two exchanges of a window, until it ends.

Every change goes through `ServerDatabase.write`: one call is one transaction, there completely or not at all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from murmura.channel.key_pairs import new_key
from murmura.core.errors import RunError
from murmura.core.locks import OWN
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import SealingKey, ServerKey

Statement = tuple[str, Sequence[Any]]

# What makes each version of a database from the one before. A released step is never changed: a new version is
# one step more. The file says its version (PRAGMA user_version). The first two belonged to older versions of
# the wire: nothing of them can go on.
OLDEST = 3
STEPS: dict[str, tuple[str, ...]] = {
    "coordinator": (
        """
        CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
        CREATE TABLE devices (
            slot INTEGER PRIMARY KEY, token BLOB NOT NULL UNIQUE, admission BLOB UNIQUE,
            joined REAL NOT NULL, missed INTEGER NOT NULL);
        CREATE TABLE blobs (hash BLOB PRIMARY KEY, content BLOB NOT NULL);
        CREATE TABLE rounds (
            serial INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, manifest BLOB NOT NULL, envelope BLOB,
            called BLOB NOT NULL, state TEXT NOT NULL, reports INTEGER, ended REAL, reason TEXT);
        CREATE TABLE log (place INTEGER PRIMARY KEY, entry BLOB NOT NULL);
        CREATE TABLE models (serial INTEGER PRIMARY KEY, done INTEGER NOT NULL, state BLOB NOT NULL);
        CREATE TABLE revoked (admission BLOB PRIMARY KEY)
        """,
        "CREATE TABLE revocations (message BLOB PRIMARY KEY)",
    ),
    "aggregator": (
        """
        CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
        CREATE TABLE rounds (
            serial INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, state TEXT NOT NULL, phase TEXT NOT NULL,
            opened_in INTEGER NOT NULL, ids BLOB, total BLOB);
        CREATE TABLE log (place INTEGER PRIMARY KEY, leaf BLOB NOT NULL);
        CREATE TABLE counted (
            phase TEXT NOT NULL, counted_in INTEGER NOT NULL, admission BLOB NOT NULL, link BLOB);
        CREATE TABLE invalid (admission BLOB NOT NULL, sent_in INTEGER NOT NULL, UNIQUE (admission, sent_in));
        CREATE TABLE revoked (admission BLOB PRIMARY KEY)
        """,
        # entries that came before are sent once more: leaves alone give no other machine its log back
        "ALTER TABLE log ADD COLUMN entry BLOB; CREATE TABLE revocations (message BLOB PRIMARY KEY)",
    ),
    "admitter": (
        """
        CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
        CREATE TABLE invitations (
            number INTEGER PRIMARY KEY, admission BLOB NOT NULL UNIQUE, label TEXT NOT NULL,
            created REAL NOT NULL, expires INTEGER NOT NULL, revoked REAL)
        """,
    ),
}


class ServerDatabase:
    """The file of one server."""

    def __init__(self, path: Path, role: str) -> None:
        try:
            path.parent.mkdir(OWN, parents=True, exist_ok=True)
            version = _version(path, role)
            # the server is one thread; its start-up and its tests are not always the same one
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            path.chmod(0o600)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten
            self._migrate(role, version)
        except (sqlite3.Error, OSError) as error:
            raise RunError(
                f"{path} must be a file a {role} of Murmura can write, but cannot be used ({error})."
            ) from None

    def _migrate(self, role: str, version: int) -> None:
        """Make it the newest version, completely or not at all."""
        done = 0 if version == 0 else version - OLDEST + 1
        steps = [sql for step in STEPS[role][done:] for sql in step.split(";") if sql.strip()]
        stamp = f"PRAGMA user_version={_newest(role)}"
        named = [] if version else [put_fact("role", role.encode())]
        if self.row("PRAGMA user_version") != (_newest(role),):
            self.write([*((sql, ()) for sql in steps), *named, (stamp, ())], durable=True)

    def write(self, statements: Iterable[Statement], durable: bool = False, forget: bool = False) -> None:
        """Make all these changes or none; a durable write is on the disk when this returns.

        With `forget` nothing of what was there before stays in the write-ahead file either.
        """
        try:
            self._db.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            for sql, values in statements:
                self._db.execute(sql, values)
            self._db.execute("COMMIT")
            if forget:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.IntegrityError):
                raise
            raise RefusedError(
                "full", f"nothing can be written down here ({error}); try again later."
            ) from None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a question finds."""
        return self._db.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row a question finds, or None."""
        found: tuple[Any, ...] | None = self._db.execute(sql, values).fetchone()
        return found

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row a question finds, or None."""
        found = self.row(sql, values)
        return None if found is None else found[0]

    def fact(self, name: str) -> bytes | None:
        """A named value."""
        found: bytes | None = self.value("SELECT value FROM facts WHERE name = ?", (name,))
        return found

    def fact_or(self, name: str, make: Callable[[], bytes]) -> bytes:
        """A named value, made and written down the first time."""
        found = self.fact(name)
        if found is None:
            found = make()
            self.write([put_fact(name, found)], durable=True)
        return found

    def signing_key(self) -> ServerKey:
        """The server's key, made at its first start."""
        return ServerKey(self.fact_or("key", lambda: new_key("signing")))

    def sealing_key(self) -> SealingKey:
        """The key that shares for an aggregator are sealed to, made at its first start."""
        return SealingKey(self.fact_or("sealing key", lambda: new_key("sealing")))

    def proof_key(self) -> SealingKey:
        """The key that an aggregator finds the secret of its proofs with, made at its first start."""
        return SealingKey(self.fact_or("proof key", lambda: new_key("sealing")))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def _version(path: Path, role: str) -> int:
    """The version of the file, 0 where there is none; refuses a newer one or another's before it is touched."""
    unfinished = path.with_name(f"{path.name}-journal").exists()  # killed before it had its first table
    if not path.exists() or not path.stat().st_size or unfinished:
        return 0
    db = read_only(path)
    try:
        ((stated,),) = db.execute("PRAGMA user_version")
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        facts = dict(db.execute("SELECT name, value FROM facts")) if "facts" in tables else {}
    finally:
        db.close()
    if tables and facts.get("role") != role.encode():
        raise RunError(f"{path} must belong to a {role}, but was made by something else; choose another.")
    newest = _newest(role)
    if tables and stated < OLDEST:
        raise RunError(
            f"{path} must be of version {OLDEST}, but was made by version {stated}, whose federations cannot "
            "go on; begin a new federation in another folder."
        )
    if stated > newest:
        raise RunError(
            f"{path} must be of version {newest} or older, but a newer Murmura made it version {stated}; "
            "start that one, or choose another folder."
        )
    return int(stated)


def _newest(role: str) -> int:
    return OLDEST - 1 + len(STEPS[role])


def read_only(path: Path) -> sqlite3.Connection:
    """A server's file as it is, to look at."""
    # a file without a log beside it can be read without making one; one with a log holds its newest pages there
    logged = path.with_name(f"{path.name}-wal").exists()
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro{'' if logged else '&immutable=1'}", uri=True)


def copy_database(path: Path, to: Path) -> None:
    """A consistent copy of a server's file, also of one that is at work: it holds keys, and is its owner's."""
    source, part = read_only(path), to.with_name(f"{to.name}.part")
    try:
        part.touch(0o600)
        target = sqlite3.connect(part)
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        target.close()
        part.replace(to)
    except (sqlite3.Error, OSError) as error:
        raise RunError(f"{path} must be a server's file that can be copied, but is not ({error}).") from None
    finally:
        source.close()


def put_fact(name: str, value: bytes) -> Statement:
    """The change that sets a named value."""
    return "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (
        name,
        value,
    )
