"""A mirror of the public log: anybody's copy of every entry, for the day on which all three servers are lost.

It is a folder: `entries` (each behind its length) and `head`, the signed head over them. A server that takes it
over checks both, so whoever keeps a mirror need not be believed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from murmura.core.errors import DataError
from murmura.core.files import write_whole
from murmura.device.trust import check_grown, fetch_entries, fetch_terms
from murmura.wire.log import LogHead, MerkleTree, leaf_hash, pack_entries, unpack_entries
from murmura.wire.manifest import LogEnd
from murmura.wire.refusals import RefusedError, forged
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import Transport, ask

ENTRIES, HEAD = "entries", "head"


@dataclass(frozen=True)
class LogMirror:
    """The folder of a mirror."""

    path: Path

    def read(self) -> tuple[list[bytes], LogHead | None]:
        """All entries, and the head that was signed over them; refuses a folder that does not hold together."""
        if not (self.path / HEAD).exists():
            return [], None
        try:
            head = LogHead.decode((self.path / HEAD).read_bytes())
            entries = unpack_entries((self.path / ENTRIES).read_bytes(), head.size)
            last = next(one for one in reversed(entries) if one.startswith(b"terms\0"))
            terms = FederationTerms.decode(last.partition(b"\0")[2])
            head.check(terms)
            end = LogEnd()
            for entry in entries:
                end = end.after(entry, terms)
            if MerkleTree(list(map(leaf_hash, entries))).root() != head.root:
                raise forged("its entries must have the root that was signed, but have another.")
        except (OSError, StopIteration, RefusedError) as error:
            raise DataError(
                f"{self.path} must be a folder of `murmura log mirror`, but its log is not whole ({error})."
            ) from None
        return entries, head

    async def look(self, send: Transport, url: str, pinned: bytes | None = None) -> tuple[int, int]:
        """Fetch what is new: how many entries there are, and how many of them were; refuses another past."""
        known, before = self.read()
        terms = await fetch_terms(send, url, pinned if before is None else None)
        head = LogHead.decode((await ask(send, "GET", f"{url}/log")).body)
        head.check(terms)
        if before is not None:
            await check_grown(head, before, (), send, url)
            if head.size == before.size:
                return head.size, 0
        fresh = await fetch_entries(send, url, len(known), head.size)
        if MerkleTree([leaf_hash(entry) for entry in (*known, *fresh)]).root() != head.root:
            raise forged("the entries of the log must have the root its head names, but have another.")
        self._append(known, fresh, head)
        return head.size, len(fresh)

    def _append(self, known: list[bytes], fresh: list[bytes], head: LogHead) -> None:
        """First the entries, then the head over them: what a crash leaves behind the head does not count."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ENTRIES).open("ab") as file:
            file.truncate(len(pack_entries(known)))
            file.write(pack_entries(fresh))
            file.flush()
            os.fsync(file.fileno())
        write_whole(self.path / HEAD, head.encode())
