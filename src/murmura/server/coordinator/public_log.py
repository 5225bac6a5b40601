"""The coordinator's side of the public log: it keeps every entry, and what proves where each one is."""

from __future__ import annotations

from collections.abc import Sequence

from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.wire.log import LogHead, LogProof, pack_entries
from murmura.wire.merkle import MerkleTree, leaf_hash
from murmura.wire.refusals import RefusedError

PAGE_BYTES = 1 << 19  # of entries that are handed out or sent at a time


class PublicLog:
    """All entries and the newest head that everybody has signed."""

    def __init__(self, store: ServerDatabase) -> None:
        self._store = store
        entries = store.rows("SELECT entry FROM log ORDER BY place")
        self._tree = MerkleTree([leaf_hash(bytes(entry)) for (entry,) in entries])

    def __len__(self) -> int:
        return len(self._tree)

    @property
    def head(self) -> LogHead | None:
        """The newest head that is signed, if there is one."""
        found = self._store.fact("head")
        return None if found is None else LogHead.decode(found)

    def unsigned_head(self, size: int | None = None) -> LogHead:
        """What is to be signed next; or what the head over the first `size` entries was."""
        return LogHead(len(self._tree) if size is None else size, self._tree.root(size))

    def keep_head(self, head: LogHead) -> None:
        """Everybody has signed it."""
        self._store.write([put_fact("head", head.encode())], durable=True)

    def append(self, entries: Sequence[bytes], changes: Sequence[Statement] = (), forget: bool = False) -> None:
        """Write entries down together with other changes; with `forget` nothing of what was there stays."""
        at = len(self._tree)
        rows = [("INSERT INTO log VALUES (?, ?)", (at + n, entry)) for n, entry in enumerate(entries)]
        self._store.write([*changes, *rows], durable=True, forget=forget)
        for entry in entries:
            self._tree.append(leaf_hash(entry))

    def page(self, start: int, size: int | None = None) -> bytes:
        """Entries from a place on, as many as a page holds: at least one, if there is one."""
        end = len(self._tree) if size is None else min(size, len(self._tree))
        entries: list[bytes] = []
        length = 0
        for (entry,) in self._store.rows(
            "SELECT entry FROM log WHERE place >= ? AND place < ? ORDER BY place LIMIT 1000", (start, end)
        ):
            length += len(entry)
            if entries and length > PAGE_BYTES:
                break
            entries.append(bytes(entry))
        return pack_entries(entries)

    def proof(self, head: LogHead, index: int, before: int) -> LogProof:
        """That an entry is in a head, and that the head extends an earlier one."""
        inclusion, consistency = self._tree.inclusion(index, head.size), self.consistency(before, head.size)
        return LogProof(head, index, before, tuple(inclusion), tuple(consistency))

    def consistency(self, first: int, size: int) -> list[bytes]:
        """That the log of one size begins with the log of another; refuses sizes that never were."""
        if not 0 <= first <= size <= len(self._tree):
            raise RefusedError("unknown", f"the log has {len(self._tree)} entries; ask for sizes up to that.")
        return self._tree.consistency(first, size)

    def newest_model(self, head: LogHead, entry: bytes = b"") -> tuple[bytes, LogProof] | None:
        """The last entry of a model in a head, or this one, and where it is; None where there is none."""
        wanted = entry or b"model\0"
        found = self._store.row(
            "SELECT place, entry FROM log WHERE place < ? AND substr(entry, 1, ?) = ? "
            "ORDER BY place DESC LIMIT 1",
            (head.size, len(wanted), wanted),
        )
        return None if found is None else (bytes(found[1]), self.proof(head, int(found[0]), head.size))
