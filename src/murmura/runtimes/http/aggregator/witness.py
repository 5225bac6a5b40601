"""An aggregator as a witness of the public log: it keeps every leaf, and signs no head that rewrites one."""

from __future__ import annotations

from murmura.runtimes.http.database import ServerDatabase, Statement, put_fact
from murmura.runtimes.http.protocol.keys import ServerKey
from murmura.runtimes.http.protocol.log import LogHead, manifest_entry
from murmura.runtimes.http.protocol.manifest import Manifest
from murmura.runtimes.http.protocol.merkle import MerkleTree, leaf_hash
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.terms import FederationTerms
from murmura.runtimes.http.protocol.wire import HASH_BYTES


class LogWitness:
    """The log as this aggregator has seen it grow."""

    def __init__(self, store: ServerDatabase) -> None:
        self._store = store
        self.tree = MerkleTree([bytes(leaf) for (leaf,) in store.rows("SELECT leaf FROM log ORDER BY place")])
        self._leaves = {bytes(leaf) for (leaf,) in store.rows("SELECT leaf FROM log")}
        last = store.fact("last manifest")
        # serial and hash of the newest manifest in the log
        self._last = (-1, b"") if last is None else (int.from_bytes(last[:8], "little"), last[8:])

    def has(self, content: bytes) -> bool:
        """Whether a manifest is in the log."""
        return leaf_hash(manifest_entry(content)) in self._leaves

    def append(self, terms: FederationTerms, start: int, entries: list[bytes]) -> None:
        """Take over new entries, all or none; refuses a gap, a rewritten past and a manifest out of order."""
        if start > len(self.tree):
            raise RefusedError(
                "unknown", f"entries from {len(self.tree)} on must come first, but {start} came."
            )
        known = [leaf_hash(entry) for entry in entries[: len(self.tree) - start]]
        if known != self._stored(start, len(known)):
            raise RefusedError("forged", "entries of the log must never change, but others were known here.")
        fresh = entries[len(known) :]
        last = self._last
        for entry in fresh:
            last = _follows(terms, last, entry, first=len(self.tree) == 0 and entry is fresh[0])
        if not fresh:
            return
        at, leaves = len(self.tree), [leaf_hash(entry) for entry in fresh]
        rows: list[Statement] = [
            ("INSERT INTO log VALUES (?, ?)", (at + n, leaf)) for n, leaf in enumerate(leaves)
        ]
        newest = max(last[0], 0).to_bytes(8, "little") + last[1]
        self._store.write([*rows, *([put_fact("last manifest", newest)] if last[1] else [])], durable=True)
        for leaf in leaves:
            self.tree.append(leaf)
        self._leaves.update(leaves)
        self._last = last

    def sign(self, federation: str, key: ServerKey) -> bytes:
        """This aggregator's signature of the head."""
        return LogHead(len(self.tree), self.tree.root()).sign(federation, key)

    def _stored(self, start: int, count: int) -> list[bytes]:
        found = self._store.rows("SELECT leaf FROM log WHERE place >= ? ORDER BY place LIMIT ?", (start, count))
        return [bytes(leaf) for (leaf,) in found]


def _follows(terms: FederationTerms, last: tuple[int, bytes], entry: bytes, first: bool) -> tuple[int, bytes]:
    """Serial and hash of the newest manifest after this entry; refuses one that does not follow."""
    kind, _, content = entry.partition(b"\0")
    if kind == b"terms" and content == terms.encode():
        return last
    if first:
        raise RefusedError("malformed", "a log must begin with the terms, but begins with something else.")
    if kind == b"manifest":
        manifest = Manifest.decode(content)
        if (manifest.serial, manifest.previous) != (last[0] + 1, last[1].hex()):
            raise RefusedError(
                "forged", f"manifest {last[0] + 1} must be logged next, after the one before it, but is not."
            )
        if manifest.terms != terms.hash.hex() or manifest.federation != terms.federation:
            raise RefusedError("forged", "a manifest must be made under the agreed terms, but is not.")
        return manifest.serial, manifest.hash
    if kind == b"model" and len(content) == 8 + HASH_BYTES and last[0] >= 0:
        return last
    raise RefusedError("malformed", "an entry of the log must be terms, a manifest or a model, but is not.")
