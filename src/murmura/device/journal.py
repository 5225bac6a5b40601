"""The device's ledger: a journal of every upload, each line bound to the one before it by a hash.

One line of JSON per upload, {"entry": ..., "hash": SHA-256(hash before + entry)}; beside it a `.head` file with
the number of lines and the last hash, so that also the removal of the newest lines is found. A line is on disk
before the upload it tells of may leave. Whoever rewrites both files can invent a consistent past: only a hash
noted elsewhere (`verify` prints it) rules that out.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from murmura.core.errors import DataError, RunError
from murmura.core.files import write_whole

NAME = "journal.jsonl"
START = "0" * 64  # the hash before the first line


@dataclass(frozen=True)
class JournalEntry:
    """One upload, as its owner may read it."""

    time: str  # UTC, ISO 8601
    round: int
    phase: str
    manifest: str  # hash of the signed manifest that asked for it
    bytes: int  # that leave the device, all recipients together
    rows: int  # of the message, the same for everyone
    disclosed: float  # the fraction of her positives that has ever been part of an upload, this one included
    event: str = "upload"
    epsilon: float | None = None  # what noise bounds all uploads so far to; None: nothing does
    delta: float | None = None  # at which that holds


@dataclass(frozen=True)
class VerifiedJournal:
    """A journal without a break."""

    entries: tuple[JournalEntry, ...]
    head: str  # the last hash
    heads: tuple[str, ...]  # every hash there was, from the start on
    length: int  # bytes of its whole lines
    unfinished: bool = False  # a last line that a crash cut off; its upload never left


@dataclass(frozen=True)
class Journal:
    """The journal in a file."""

    path: Path

    def append(self, entry: JournalEntry, known: VerifiedJournal | None = None) -> str:
        """Add a line; when this returns it is on disk. The new head. Refuses to go on after a broken line.

        Who has just verified the journal gives what was found, so that it is not read from its start again.
        """
        known = known or self.verify()
        text = _text(entry)
        head = _link(known.head, text)
        line = json.dumps({"entry": json.loads(text), "hash": head}, sort_keys=True) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                if known.unfinished:
                    file.truncate(known.length)
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(
                f"{self.path} cannot be written ({error.strerror}); nothing may leave: free space first."
            ) from None
        write_whole(self._head, f"{len(known.entries) + 1} {head}\n".encode())
        return head

    def verify(self, expected: str | None = None) -> VerifiedJournal:
        """Read it; refuses an edited, exchanged or removed line, and a head other than `expected`."""
        raw = self.path.read_bytes() if self.path.exists() else b""
        whole = raw[: raw.rfind(b"\n") + 1]
        head, entries, hashes = START, [], [START]
        for number, line in enumerate(whole.splitlines(), 1):
            entry, stated = self._read(number, line)
            head = _link(head, _text(entry))
            if stated != head:
                raise DataError(
                    f"line {number} of {self.path} must follow from the lines before it, but was changed, or a "
                    "line was removed."
                )
            entries.append(entry)
            hashes.append(head)
        self._check_head(hashes)
        if expected is not None and expected not in hashes:
            raise DataError(
                f"{self.path} must contain the hash {expected}, but does not: its past was rewritten."
            )
        return VerifiedJournal(tuple(entries), head, tuple(hashes), len(whole), len(raw) > len(whole))

    def export(self, kind: str) -> str:
        """All entries as "csv" or "json"."""
        entries = [asdict(entry) for entry in self.verify().entries]
        if kind == "json":
            return json.dumps(entries, indent=2) + "\n"
        text = io.StringIO()
        writer = csv.DictWriter(text, [field.name for field in fields(JournalEntry)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(entries)
        return text.getvalue()

    @property
    def _head(self) -> Path:
        return self.path.with_suffix(".head")

    def _check_head(self, hashes: list[str]) -> None:
        """A crash between the two files leaves the journal one line ahead; anything else is a removal."""
        lines, _, head = (
            self._head.read_text("utf-8").strip().partition(" ") if self._head.exists() else ("", "", "")
        )
        known = int(lines) if lines.isdigit() else 0
        behind = len(hashes) - 1 - known
        if behind not in (0, 1) or (known and hashes[known] != head):
            raise DataError(
                f"{self.path} must have {known} lines as {self._head.name} says, or one more, but has "
                f"{len(hashes) - 1}, or others: lines were removed or exchanged."
            )

    def _read(self, number: int, line: bytes) -> tuple[JournalEntry, str]:
        try:
            found: Any = json.loads(line)
            return JournalEntry(**found["entry"]), str(found["hash"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise DataError(
                f"line {number} of {self.path} must be an entry of a journal, but is not."
            ) from None


def journals(place: Path) -> list[Journal]:
    """The journal of a file, or all below a folder; refuses a place without any."""
    found = sorted(place.rglob(NAME)) if place.is_dir() else [place] * place.is_file()
    if not found:
        raise DataError(f"{place} must be a journal or a folder with a {NAME}, but there is none.")
    return [Journal(path) for path in found]


def _text(entry: JournalEntry) -> str:
    given = {name: value for name, value in asdict(entry).items() if value is not None}
    return json.dumps(given, sort_keys=True, separators=(",", ":"))


def _link(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}{text}".encode()).hexdigest()
