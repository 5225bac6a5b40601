"""The databases of servers have a version: older ones are migrated, newer ones and the first are left alone."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from murmura.core.errors import MurmuraError, RunError
from murmura.device.folder import DeviceFolder
from murmura.server import database
from murmura.server.database import STEPS, ServerDatabase, put_fact
from tests.http.network import World, people
from tests.http.own_devices import TRAINING, settle

FIRST = {  # as the servers of wire version 1 made them
    "coordinator": """
        CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
        CREATE TABLE devices (slot INTEGER PRIMARY KEY, token BLOB NOT NULL UNIQUE, joined REAL NOT NULL);
        CREATE TABLE blobs (hash BLOB PRIMARY KEY, content BLOB NOT NULL);
        CREATE TABLE rounds (
            serial INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, envelope BLOB NOT NULL, called BLOB NOT NULL,
            state TEXT NOT NULL, reports INTEGER, ended REAL, reason TEXT);
        CREATE TABLE tickets (
            serial INTEGER NOT NULL, slot INTEGER NOT NULL, report BLOB NOT NULL, PRIMARY KEY (serial, slot));
        INSERT INTO facts VALUES ('role', CAST('coordinator' AS BLOB));
        INSERT INTO devices VALUES (3, x'aa', 1.5);
    """,
    "aggregator": """
        CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
        CREATE TABLE rounds (
            serial INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, state TEXT NOT NULL, ids BLOB, total BLOB);
        INSERT INTO facts VALUES ('role', CAST('aggregator' AS BLOB));
        INSERT INTO rounds VALUES (0, x'bb', 'open', NULL, NULL);
    """,
}
KEPT: dict[str, tuple[str, tuple[object, ...]]] = {
    "coordinator": ("devices", (3, b"\xaa", None, 1.5, 0)),
    "aggregator": ("rounds", (0, b"\xbb", "released", "train", 0, None, None)),
    "admitter": ("invitations", (1, b"\xcc", "a friend", 1.5, 0, None)),
}
NEWEST = {"coordinator": 4, "aggregator": 4, "admitter": 3}
ROLES = pytest.mark.parametrize("role", list(KEPT))


def made(path: Path, role: str) -> Path:
    """A database of the newest version, with a row."""
    table, row = KEPT[role]
    opened = ServerDatabase(path, role)
    opened.write([(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)])
    opened.close()
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


@pytest.mark.parametrize("role", list(FIRST))
@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_database_of_an_older_wire_is_refused_and_left_as_it_was(
    tmp_path: Path, role: str, version: int
) -> None:
    db = sqlite3.connect(tmp_path / "a.db")
    db.execute("PRAGMA journal_mode=WAL")
    db.executescript(FIRST[role])
    db.execute(f"PRAGMA user_version={version}")
    db.close()
    before = files(tmp_path)
    with pytest.raises(
        RunError, match=f"made by version {version}, whose federations cannot go on; begin a new federation"
    ):
        ServerDatabase(tmp_path / "a.db", role)
    assert files(tmp_path) == before


@ROLES
def test_a_database_is_of_the_newest_version_and_goes_on(tmp_path: Path, role: str) -> None:
    opened, (table, row) = ServerDatabase(made(tmp_path / "a.db", role), role), KEPT[role]
    assert opened.rows(f"SELECT * FROM {table}") == [row]
    opened.write([put_fact("more", b"1")])
    opened.close()
    again = ServerDatabase(tmp_path / "a.db", role)
    assert (again.fact("more"), again.row("PRAGMA user_version")) == (b"1", (NEWEST[role],))


@ROLES
def test_an_older_database_is_migrated_completely_or_not_at_all(
    tmp_path: Path, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, (table, row) = made(tmp_path / "a.db", role), KEPT[role]
    second = f"ALTER TABLE {table} ADD COLUMN note TEXT; UPDATE {table} SET note = 'old'"
    with monkeypatch.context() as wrong:
        wrong.setitem(database.STEPS, role, (*STEPS[role], f"{second}; INSERT INTO nowhere VALUES (1)"))
        with pytest.raises(MurmuraError, match="nowhere"):
            ServerDatabase(path, role)
    assert ServerDatabase(path, role).rows(f"SELECT * FROM {table}") == [row]
    monkeypatch.setitem(database.STEPS, role, (*STEPS[role], second))
    for place in (path, tmp_path / "new.db"):
        opened = ServerDatabase(place, role)
        assert opened.row("PRAGMA user_version") == (NEWEST[role] + 1,)
        assert opened.rows(f"SELECT * FROM {table}") == ([(*row, "old")] if place == path else [])
        opened.close()
    tables = "SELECT name, sql FROM sqlite_master ORDER BY name"
    plain = [
        [(name, " ".join((sql or "").split())) for name, sql in ServerDatabase(place, role).rows(tables)]
        for place in (path, tmp_path / "new.db")
    ]
    assert plain[0] == plain[1]


@ROLES
@pytest.mark.parametrize("killed", [False, True])
def test_a_newer_database_is_refused_and_left_as_it_was(tmp_path: Path, role: str, killed: bool) -> None:
    first, folder = made(tmp_path / "first.db", role), tmp_path / "state"
    folder.mkdir()
    db = sqlite3.connect(first)
    db.execute(f"PRAGMA user_version={NEWEST[role] + 1}")
    if not killed:
        db.close()
    for path in tmp_path.glob("first.db*"):  # with what a killed process had not moved into the file
        (folder / path.name.replace("first", "a")).write_bytes(path.read_bytes())
    before, mode = files(folder), (folder / "a.db").stat().st_mode
    assert ("a.db-wal" in before) is killed
    with pytest.raises(
        RunError,
        match=rf"version {NEWEST[role]} or older, but a newer Murmura made it version {NEWEST[role] + 1}",
    ):
        ServerDatabase(folder / "a.db", role)
    assert (files(folder), (folder / "a.db").stat().st_mode) == (before, mode)
    db.close()


def test_the_database_of_another_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    made(tmp_path / "a.db", "aggregator")
    before = files(tmp_path)
    with pytest.raises(RunError, match="must belong to a coordinator"):
        ServerDatabase(tmp_path / "a.db", "coordinator")
    assert files(tmp_path) == before


@pytest.mark.parametrize("version", [None, 1, 2, 4])
def test_a_device_of_another_version_is_refused_and_left_as_it_was(tmp_path: Path, version: int | None) -> None:
    world = World(tmp_path / "world", people(), settings=TRAINING)
    home = asyncio.run(settle(world, tmp_path / "me"))
    known = home.identity().token
    plain = json.loads((home.path / "device.json").read_bytes())
    assert plain.pop("version") == 3
    said = {} if version is None else {"version": version}
    (home.path / "device.json").write_text(json.dumps({**plain, **said}))
    before = files(home.path)
    newer = "a newer Murmura made it version 4; start that one"
    with pytest.raises(
        RunError,
        match=newer if version == 4 else f"made by version {version or 1}, .* join anew in another folder",
    ):
        home.identity()
    assert files(home.path) == before
    (home.path / "device.json").write_text(json.dumps({**plain, "version": 3}))
    assert DeviceFolder(home.path).identity().token == known
