"""The journal finds every edit, exchange and removal, survives a crash within a line, exports what it holds."""

import csv
import io
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from murmura.cli.app import app
from murmura.core.errors import DataError, MurmuraError
from murmura.device.folder import DeviceFolder
from murmura.device.journal import START, Journal, JournalEntry, VerifiedJournal
from tests.hypothesis_profiles import examples


def entry(n: int) -> JournalEntry:
    return JournalEntry("2026-01-02T03:04:05+00:00", n, "train", f"{n:064x}", 311340, 3706, n / 10)


def filled(folder: Path, lines: int = 5) -> Journal:
    journal = Journal(folder / "journal.jsonl")
    for n in range(lines):
        journal.append(entry(n))
    return journal


def test_what_is_written_is_read_and_every_head_is_new(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    assert journal.verify().head == START
    heads = [journal.append(entry(n)) for n in range(4)]
    assert len(set(heads)) == 4
    assert journal.verify().entries == tuple(entry(n) for n in range(4))
    assert journal.verify(heads[1]).head == heads[-1]


@examples(0.6)
@given(st.data())
def test_any_changed_byte_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    journal = filled(tmp_path_factory.mktemp("journal"), 4)
    raw = bytearray(journal.path.read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda b: b != raw[at]))
    raw[at] = value
    journal.path.write_bytes(raw)
    try:
        found = journal.verify()
    except DataError:
        return
    # what JSON reads alike, such as another kind of white space, is no change
    assert found.entries == tuple(entry(n) for n in range(4))


@pytest.mark.parametrize("gone", range(5))
def test_every_removed_line_is_found(tmp_path: Path, gone: int) -> None:
    journal = filled(tmp_path)
    lines = journal.path.read_bytes().splitlines(keepends=True)
    journal.path.write_bytes(b"".join(lines[:gone] + lines[gone + 1 :]))
    with pytest.raises(DataError):
        journal.verify()


def test_exchanged_lines_a_removed_tail_and_a_removed_head_are_found(tmp_path: Path) -> None:
    journal = filled(tmp_path)
    lines = journal.path.read_bytes().splitlines(keepends=True)
    for wrong in ([lines[1], lines[0], *lines[2:]], lines[:2], [], [*lines, lines[-1]]):
        journal.path.write_bytes(b"".join(wrong))
        with pytest.raises(DataError):
            journal.verify()
    journal.path.write_bytes(b"".join(lines))
    (tmp_path / "journal.head").unlink()
    with pytest.raises(DataError):
        journal.verify()


def test_a_past_invented_anew_is_found_by_a_noted_head(tmp_path: Path) -> None:
    noted = filled(tmp_path / "true", 3).verify().head
    forged = Journal(tmp_path / "forged" / "journal.jsonl")
    for n in (0, 7, 2):
        forged.append(entry(n))
    forged.verify()
    with pytest.raises(DataError, match="rewritten"):
        forged.verify(noted)


def test_a_crash_within_a_line_loses_no_earlier_line(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole", 3)
    before = filled(tmp_path / "before", 2)
    raw, known = whole.path.read_bytes(), len(before.path.read_bytes())
    for cut in (*range(known, len(raw), 9), len(raw) - 1, len(raw)):
        folder = tmp_path / f"cut{cut}"
        shutil.copytree(tmp_path / "before", folder)
        crashed = Journal(folder / "journal.jsonl")
        crashed.path.write_bytes(raw[:cut])
        found = crashed.verify()
        assert len(found.entries) == (3 if cut == len(raw) else 2)
        assert found.unfinished == (known < cut < len(raw))
        crashed.append(entry(9))
        assert crashed.verify().entries[-1] == entry(9)
        assert crashed.verify().entries[:2] == (entry(0), entry(1))
        shutil.rmtree(folder)


def test_exports_hold_every_entry(tmp_path: Path) -> None:
    journal = filled(tmp_path)
    assert json.loads(journal.export("json")) == [asdict(entry(n)) for n in range(5)]
    rows = list(csv.DictReader(io.StringIO(journal.export("csv"))))
    assert [row["round"] for row in rows] == list("01234")
    assert {row["bytes"] for row in rows} == {"311340"}


def test_the_commands_check_and_export(tmp_path: Path) -> None:
    filled(tmp_path / "one")
    head = filled(tmp_path / "two", 2).verify().head
    runner = CliRunner()
    checked = runner.invoke(app, ["ledger", "verify", str(tmp_path), "--json"])
    assert [one["uploads"] for one in json.loads(checked.stdout)] == [5, 2]
    assert head in runner.invoke(app, ["ledger", "verify", str(tmp_path / "two"), "--head", head]).stdout
    printed = runner.invoke(app, ["ledger", "export", str(tmp_path / "one"), "--as", "json"])
    assert len(json.loads(printed.stdout)) == 5
    receipts = ["--receipts", str(tmp_path / "copy.jsonl")]
    for words in (
        ["export", str(tmp_path)],
        ["verify", str(tmp_path / "none")],
        ["verify", str(tmp_path / "one"), *receipts],  # nobody says whose signatures they have
    ):
        assert isinstance(runner.invoke(app, ["ledger", *words]).exception, MurmuraError)


def home(place: Path) -> DeviceFolder:
    """A device's folder with three uploads in its journal."""
    place.mkdir()
    made = DeviceFolder(place)
    for n in range(3):
        made.note(entry(n))
    return made


def test_an_upload_verifies_the_journal_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, verify, times = home(tmp_path / "me"), Journal.verify, list[Path]()

    def counted(journal: Journal, expected: str | None = None) -> VerifiedJournal:
        times.append(journal.path)
        return verify(journal, expected)

    monkeypatch.setattr(Journal, "verify", counted)
    folder.note(entry(3))
    assert len(times) == 1
    folder.note(entry(3))  # sent again: the same upload
    assert len(times) == 2
    assert verify(folder.journal).entries == tuple(entry(n) for n in range(4))


@pytest.mark.parametrize("line", range(3))
@pytest.mark.parametrize("looks", [True, False])
def test_what_was_changed_between_two_uploads_stops_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: int, looks: bool
) -> None:
    """Whoever makes an earlier upload look smaller is found; a device that does not look goes on sending."""
    folder = home(tmp_path / "me")
    path = folder.journal.path
    lines = path.read_text().splitlines(keepends=True)
    lines[line] = lines[line].replace('"bytes": 311340', '"bytes": 311')
    path.write_text("".join(lines))
    tampered = path.read_bytes()
    if looks:
        with pytest.raises(DataError, match=f"line {line + 1} of"):
            folder.note(entry(3))
        assert path.read_bytes() == tampered
    else:
        head = json.loads(lines[-1])["hash"]
        blind = VerifiedJournal((entry(2),), head, (head,), len(tampered))
        monkeypatch.setattr(Journal, "verify", lambda journal, expected=None: blind)
        folder.note(entry(3))
        assert len(path.read_bytes().splitlines()) == 4
