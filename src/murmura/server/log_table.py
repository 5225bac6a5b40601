"""The public log as a server keeps it: every entry, and the tree over them."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.server.database import ServerDatabase
from murmura.wire.log import Hash, LogHead, MerkleTree, pack_entries
from murmura.wire.manifest import LogEnd, Manifest
from murmura.wire.refusals import path_number
from murmura.wire.terms import FederationTerms

PAGE_BYTES = 1 << 19  # of entries that are handed out or sent at a time


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
        for (entry,) in self._store.rows(
            "SELECT entry FROM log WHERE place >= ? AND place < ? ORDER BY place LIMIT 1000", (start, end)
        ):
            length += len(entry or b"")
            if entry is None or (entries and length > PAGE_BYTES):
                break
            entries.append(bytes(entry))
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
        return bytes(found or b"")[len(wanted) :]

    def end(self) -> LogEnd:
        """What the next entry must follow."""
        terms, manifest = self.newest(b"terms"), self.newest(b"manifest")
        if not terms:
            return LogEnd()
        held, last = FederationTerms.decode(terms), Manifest.decode(manifest) if manifest else None
        serial = max(-1 if last is None else last.serial, -1 if held.lost is None else held.lost.serial - 1)
        return LogEnd(held.hash, serial, b"" if last is None else last.hash)
