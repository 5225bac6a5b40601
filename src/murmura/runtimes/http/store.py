"""What a server keeps: one SQLite file in WAL mode. No update and no share of one is ever written here.

Every change goes through `Store.write`: one call is one transaction, there completely or not at all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from murmura.core.errors import RunError
from murmura.runtimes.http.refusals import RefusedError

Statement = tuple[str, Sequence[Any]]

TABLES = {
    "coordinator": """
        CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
        CREATE TABLE devices (slot INTEGER PRIMARY KEY, token BLOB NOT NULL UNIQUE, joined REAL NOT NULL);
        CREATE TABLE blobs (hash BLOB PRIMARY KEY, content BLOB NOT NULL);
        CREATE TABLE rounds (
            serial INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, envelope BLOB NOT NULL, called BLOB NOT NULL,
            state TEXT NOT NULL, reports INTEGER, ended REAL, reason TEXT);
        CREATE TABLE tickets (
            serial INTEGER NOT NULL, slot INTEGER NOT NULL, report BLOB NOT NULL, PRIMARY KEY (serial, slot));
    """,
    "aggregator": """
        CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
        CREATE TABLE rounds (
            serial INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, state TEXT NOT NULL, ids BLOB, total BLOB);
    """,
}


class Store:
    """The file of one server."""

    def __init__(self, path: Path, role: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # the server is one thread; its start-up and its tests are not always the same one
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            path.chmod(0o600)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._prepare(path, role)
        except (sqlite3.Error, OSError) as error:
            raise RunError(
                f"{path} must be a file a {role} of Murmura can write, but cannot be used ({error})."
            ) from None

    def _prepare(self, path: Path, role: str) -> None:
        known = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not known:
            made = [(sql, ()) for sql in TABLES[role].split(";") if sql.strip()]
            self.write([*made, put_fact("role", role.encode())], durable=True)
        elif "facts" not in known or self.fact("role") != role.encode():
            raise RunError(f"{path} must belong to a {role}, but was made by something else; choose another.")

    def write(self, statements: Iterable[Statement], durable: bool = False) -> None:
        """Make all these changes or none; a durable write is on the disk when this returns."""
        try:
            self._db.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            for sql, values in statements:
                self._db.execute(sql, values)
            self._db.execute("COMMIT")
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

    def fact(self, name: str) -> bytes | None:
        """A named value."""
        found = self.row("SELECT value FROM facts WHERE name = ?", (name,))
        return None if found is None else bytes(found[0])

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def put_fact(name: str, value: bytes) -> Statement:
    """The change that sets a named value."""
    return "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (
        name,
        value,
    )
