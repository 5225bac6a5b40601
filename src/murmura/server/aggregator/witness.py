"""An aggregator as a witness of the public log: it keeps every leaf, and signs no head that rewrites one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.wire.keys import ServerKey
from murmura.wire.log import LogHead, is_model, manifest_entry
from murmura.wire.manifest import Manifest
from murmura.wire.merkle import MerkleTree, leaf_hash
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import HASH_BYTES


@dataclass(frozen=True)
class LogEnd:
    """What the next entry of a log must follow: the terms that hold, and the newest manifest."""

    terms: bytes = b""  # (32,) hash, b"" before the first entry
    serial: int = -1
    manifest: bytes = b""  # (32,) hash

    def encode(self) -> bytes:
        """As it is kept."""
        return self.terms + (self.serial + 1).to_bytes(8, "little") + self.manifest

    @staticmethod
    def decode(kept: bytes) -> LogEnd:
        """From what was kept, b"" before the first entry."""
        if not kept:
            return LogEnd()
        at = HASH_BYTES + 8
        return LogEnd(kept[:HASH_BYTES], int.from_bytes(kept[HASH_BYTES:at], "little") - 1, kept[at:])

    def after(self, entry: bytes, terms: FederationTerms) -> LogEnd:
        """The end with one entry more; refuses one that does not follow. `terms` say whose log it is."""
        kind, _, content = entry.partition(b"\0")
        if kind == b"terms":
            read = FederationTerms.decode(content)
            if (read.federation, read.coordinator) != (terms.federation, terms.coordinator):
                raise RefusedError("forged", "terms in the log must be of this federation, but are not.")
            if self.terms == terms.hash != read.hash:  # others are of the past, before the agreed ones
                raise RefusedError("forged", "terms in the log must be agreed here, but are not.")
            return replace(self, terms=read.hash)
        if not self.terms:
            raise RefusedError("malformed", "a log must begin with the terms, but begins with something else.")
        if kind == b"manifest":
            return self._after_manifest(Manifest.decode(content), terms)
        if is_model(kind, content) and self.serial >= 0:
            return self
        raise RefusedError("malformed", "an entry of the log must be terms, a manifest or a model, but is not.")

    def _after_manifest(self, manifest: Manifest, terms: FederationTerms) -> LogEnd:
        if (manifest.serial, manifest.previous) != (self.serial + 1, self.manifest.hex()):
            raise RefusedError(
                "forged",
                f"manifest {self.serial + 1} must be logged next, after the one before, but is not.",
            )
        if manifest.terms != self.terms.hex() or manifest.federation != terms.federation:
            raise RefusedError("forged", "a manifest must be made under the agreed terms, but is not.")
        return replace(self, serial=manifest.serial, manifest=manifest.hash)


class LogWitness:
    """The log as this aggregator has seen it grow."""

    def __init__(self, store: ServerDatabase) -> None:
        self._store = store
        self.tree = MerkleTree([bytes(leaf) for (leaf,) in store.rows("SELECT leaf FROM log ORDER BY place")])
        self._leaves = {bytes(leaf) for (leaf,) in store.rows("SELECT leaf FROM log")}
        self._end = LogEnd.decode(store.fact("end of the log") or b"")

    def has(self, content: bytes) -> bool:
        """Whether a manifest is in the log."""
        return leaf_hash(manifest_entry(content)) in self._leaves

    def under(self, terms: FederationTerms) -> bool:
        """Whether these are the terms that hold at the end of the log."""
        return self._end.terms == terms.hash

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
        end = self._end
        for entry in fresh:
            end = end.after(entry, terms)
        if not fresh:
            return
        at, leaves = len(self.tree), [leaf_hash(entry) for entry in fresh]
        rows: list[Statement] = [
            ("INSERT INTO log VALUES (?, ?)", (at + n, leaf)) for n, leaf in enumerate(leaves)
        ]
        self._store.write([*rows, put_fact("end of the log", end.encode())], durable=True)
        for leaf in leaves:
            self.tree.append(leaf)
        self._leaves.update(leaves)
        self._end = end

    def sign(self, federation: str, key: ServerKey) -> bytes:
        """This aggregator's signature of the head."""
        return LogHead(len(self.tree), self.tree.root()).sign(federation, key)

    def _stored(self, start: int, count: int) -> list[bytes]:
        found = self._store.rows("SELECT leaf FROM log WHERE place >= ? ORDER BY place LIMIT ?", (start, count))
        return [bytes(leaf) for (leaf,) in found]
