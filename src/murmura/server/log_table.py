"""The public log as a server keeps it: every entry, and the tree over them.

Manifests of one federation differ in little: they are packed (raw deflate, with the first one as dictionary).
What a proof is of are the whole entries.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence

from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.wire.log import Hash, LogHead, MerkleTree, manifest_entry, pack_entries
from murmura.wire.manifest import LogEnd, Manifest
from murmura.wire.refusals import path_number
from murmura.wire.terms import FederationTerms

PAGE_BYTES = 1 << 19  # of entries that are handed out or sent at a time
MANIFEST = manifest_entry(b"")
PACKED = manifest_entry(b"\1")  # begins a manifest that is packed: a whole one is an object of JSON
DICTIONARY = "log dictionary"  # the fact that keeps the first manifest


class LogTable:
    """All entries, in the table `log` of a server's file."""

    def __init__(self, store: ServerDatabase, leaves: Sequence[Hash]) -> None:
        self._store = store
        self.tree = MerkleTree(leaves)

    def __len__(self) -> int:
        return len(self.tree)

    def unsigned_head(self, size: int | None = None) -> LogHead:
        """What is to be signed next; or what the head over the first `size` entries was."""
        return LogHead(len(self.tree) if size is None else size, self.tree.root(size))

    def page(self, start: int, size: int | None = None) -> bytes:
        """Entries from a place on, as many as a page holds: at least one, if there is one."""
        end = len(self.tree) if size is None else min(size, len(self.tree))
        entries: list[bytes] = []
        length = 0
        stored = "SELECT entry FROM log WHERE place >= ? AND place < ? ORDER BY place LIMIT 1000"
        for entry in self._whole(one for (one,) in self._store.rows(stored, (start, end))):
            length += len(entry)
            if not entry or (entries and length > PAGE_BYTES):
                break
            entries.append(entry)
        return pack_entries(entries)

    def shown(self, start: str) -> bytes:
        """Entries of the public log from a place on."""
        return self.page(path_number(start))

    def newest(self, kind: bytes) -> bytes:
        """The content of the last entry of a kind; b"" where there is none."""
        wanted = kind + b"\0"
        found = self._store.value(
            "SELECT entry FROM log WHERE substr(entry, 1, ?) = ? ORDER BY place DESC LIMIT 1",
            (len(wanted), wanted),
        )
        return next(self._whole([found]))[len(wanted) :]

    def end(self) -> LogEnd:
        """What the next entry must follow."""
        terms, manifest = self.newest(b"terms"), self.newest(b"manifest")
        if not terms:
            return LogEnd()
        held, last = FederationTerms.decode(terms), Manifest.decode(manifest) if manifest else None
        serial = max(-1 if last is None else last.serial, -1 if held.lost is None else held.lost.serial - 1)
        return LogEnd(held.hash, serial, b"" if last is None else last.hash)

    def _whole(self, stored: Iterable[bytes | None]) -> Iterator[bytes]:
        return whole(self._store.fact(DICTIONARY) or b"", stored)

    def stored(self, entries: Sequence[bytes]) -> tuple[list[bytes], list[Statement]]:
        """How these entries go into the table, and what else is to be written with them."""
        known, found = self._store.fact(DICTIONARY) or b"", list[bytes]()
        changes: list[Statement] = []
        for entry in entries:
            if not entry.startswith(MANIFEST):
                found.append(entry)
            elif known:
                packer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=known)
                found.append(PACKED + packer.compress(entry) + packer.flush())
            else:
                known, changes = entry, [put_fact(DICTIONARY, entry)]
                found.append(entry)
        return found, changes


def whole(dictionary: bytes, stored: Iterable[bytes | None]) -> Iterator[bytes]:
    """Entries as they were logged; b"" for one that is not there."""
    for one in stored:
        entry = bytes(one or b"")
        if entry.startswith(PACKED):
            entry = zlib.decompressobj(-15, zdict=dictionary).decompress(entry[len(PACKED) :])
        yield entry
