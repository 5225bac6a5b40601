"""What an aggregator stands for: the terms it has agreed to once, and the public log, which it keeps whole.

It signs no head of the log that rewrites an entry.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from murmura.channel.proof_keys import ProofKey
from murmura.core.contract import FederationInfo
from murmura.server.database import ServerDatabase, Statement, put_fact
from murmura.server.log_table import LogTable
from murmura.wire.description import FederationDescription
from murmura.wire.log import leaf_hash, manifest_entry
from murmura.wire.manifest import LogEnd, Manifest
from murmura.wire.refusals import RefusedError, forged
from murmura.wire.signed_records import SealingKey, ServerKey, check_signature
from murmura.wire.terms import FederationTerms, LostLog
from murmura.wire.wire import SIGNATURE_BYTES


@dataclass(eq=False)
class Agreement:
    """The terms that this aggregator stands for."""

    role: Literal["seed", "vector"]
    store: ServerDatabase
    key: ServerKey
    sealing_key: SealingKey
    proof_key: SealingKey
    minimum: int
    coordinator: bytes | None  # whose terms; None: who is pinned first
    admitter: bytes | None  # who invites from this machine
    accept: bytes | None  # other terms than before, by their hash
    log: LogWitness

    def __post_init__(self) -> None:
        kept, pinned = self.store.fact("terms"), self.store.fact("coordinator")
        self._terms = None if kept is None else FederationTerms.decode(kept)
        if pinned is not None and self.coordinator is not None and pinned != self.coordinator:
            raise forged("the coordinator's key must be the one this aggregator knows, but is not.")
        self.coordinator = pinned or self.coordinator

    @cached_property
    def proof_secret(self) -> ProofKey:
        """What this aggregator and the other one check proofs under."""
        twin = self.terms.vector_aggregator if self.role == "seed" else self.terms.seed_aggregator
        assert twin is not None
        return ProofKey.agreed(self.proof_key.private, bytes.fromhex(twin.proof_key))

    @property
    def terms(self) -> FederationTerms:
        """What was agreed; refuses to do anything before that."""
        if self.agreed is None:
            raise RefusedError("paused", "this aggregator has agreed to no terms yet; try again.")
        return self.agreed

    @property
    def agreed(self) -> FederationTerms | None:
        """What was agreed, None before."""
        return None if self._description is None else self._terms

    @cached_property
    def _description(self) -> FederationDescription | None:
        """The description that the terms name, once it is here."""
        kept = self.store.fact("description")
        wanted = "" if self._terms is None else self._terms.catalogue.description
        here = kept is not None and hashlib.sha256(kept).hexdigest() == wanted
        return FederationDescription.decode(kept) if here and kept is not None else None

    @property
    def info(self) -> FederationInfo:
        """The items and sizes of the federation."""
        assert self._description is not None
        return self._description.info

    def info_of(self, manifest: Manifest, counts: bytes) -> FederationInfo:
        """What everybody knows in a round; refuses other counts than those its manifest names."""
        named = "" if manifest.counts is None else manifest.counts.hash
        if named != (hashlib.sha256(counts).hexdigest() if counts else ""):
            raise forged("the counts must be those the manifest names, but are not.")
        assert self._description is not None
        return self._description.with_counts(counts).info if counts else self.info

    def pin(self, coordinator: bytes) -> None:
        """Trust this coordinator from now on; another one never."""
        if self.coordinator is None:
            self.store.write([put_fact("coordinator", coordinator)], durable=True)
            self.coordinator = coordinator

    def agree(self, message: bytes) -> dict[str, str]:
        """Signed terms: agree to them.

        The answer is this aggregator's signature, once it has the description.
        """
        if self.coordinator is None:
            raise RefusedError("paused", "this aggregator does not know its coordinator's key yet; try again.")
        signature, content = message[:SIGNATURE_BYTES], message[SIGNATURE_BYTES:]
        check_signature(self.coordinator, "terms", content, signature)
        offered = FederationTerms.decode(content)
        if self._terms is None or self._terms.hash != offered.hash:
            self._check(offered)
            self.store.write([put_fact("terms", content)], durable=True)
            self._terms = offered
            for known in ("_description", "proof_secret"):
                vars(self).pop(known, None)
        if self._description is None:
            return {"needs": offered.catalogue.description}
        return {"signature": self.key.sign("terms", content).hex()}

    def _check(self, offered: FederationTerms) -> None:
        """Refuse terms that this machine's operator would not stand for."""
        mine = offered.seed_aggregator if self.role == "seed" else offered.vector_aggregator
        own = tuple(one.public.hex() for one in (self.key, self.sealing_key, self.proof_key))
        if offered.coordinator != (self.coordinator or b"").hex() or mine is None:
            raise forged("the terms must name this aggregator and its coordinator, but do not.")
        if (mine.key, mine.sealing_key, mine.proof_key) != own:
            raise forged(f"the terms must name this machine as the {self.role} aggregator, but do not.")
        if offered.minimum < self.minimum:
            raise RefusedError(
                "too-few",
                f"this aggregator releases no sum of fewer than {self.minimum} devices, but the terms want "
                f"{offered.minimum}; raise --minimum of the coordinator.",
            )
        if self.admitter is not None and offered.admitter != self.admitter.hex():
            raise forged(
                "devices are invited from this aggregator's folder, but the terms let others in; start "
                "it with --no-admit if that is meant."
            )
        if offered.lost is not None and (self._terms is None or offered.lost != self._terms.lost):
            self.log.check_lost(offered.lost)
        if self._terms is not None and offered.hash != self.accept:
            changed = "; ".join(self._terms.differences(offered))
            raise forged(
                f"this aggregator agreed to other terms ({changed}); its operator starts it with "
                f"--accept-terms {offered.hash.hex()} to agree to these."
            )
        offered.algorithm()  # one that is unknown here is refused now, not when its first round opens

    @property
    def description_bytes(self) -> int:
        """How long a description is taken now: that of the terms, while it is missing."""
        return 0 if self._terms is None or self._description else self._terms.catalogue.bytes

    def take_description(self, name: bytes, content: bytes) -> bool:
        """The description that the terms name."""
        wanted = "" if self._terms is None else self._terms.catalogue.description
        if name.hex() != wanted or hashlib.sha256(content).hexdigest() != wanted:
            raise forged("a description must be the one the terms name, but is not.")
        described = FederationDescription.decode(content)
        if self._terms is not None:
            described.check_for(self._terms.algorithm())
        self.store.write([put_fact("description", content)], durable=True)
        self._description = described
        return True


class LogWitness(LogTable):
    """The log as this aggregator has seen it grow."""

    def __init__(self, store: ServerDatabase) -> None:
        leaves = [bytes(leaf) for (leaf,) in store.rows("SELECT leaf FROM log ORDER BY place")]
        super().__init__(store, leaves)
        self._leaves = set(leaves)
        self._end = LogEnd.decode(store.fact("end of the log") or b"")
        last = self.newest(b"manifest")
        self._last = Manifest.decode(last) if last else None

    def known(self) -> dict[str, int]:
        """How many entries of the log are known here.

        `whole` of them, from the first on, are here with their content.
        """
        lacking = self._store.value("SELECT min(place) FROM log WHERE entry IS NULL")
        return {"size": len(self.tree), "whole": len(self.tree) if lacking is None else lacking}

    @property
    def serial(self) -> int:
        """The number of the newest manifest in the log, -1 before the first."""
        return self._end.serial

    def has(self, content: bytes) -> bool:
        """Whether a manifest is in the log."""
        return leaf_hash(manifest_entry(content)) in self._leaves

    def under(self, terms: FederationTerms) -> bool:
        """Whether these are the terms that hold at the end of the log."""
        return self._end.terms == terms.hash

    def check_lost(self, lost: LostLog) -> None:
        """Refuse terms that end the log before what this aggregator has: that is no loss, but a way back."""
        size = len(self.tree)
        if size > lost.entries or (size == lost.entries and self.tree.root().hex() != lost.root):
            raise forged(
                f"the terms say that nobody has the log after entry {lost.entries}, but this aggregator has "
                f"{size} entries of it; start the coordinator without --log-lost."
            )

    def append(self, terms: FederationTerms, start: int, entries: list[bytes]) -> None:
        """Take over new entries, all or none; refuses a gap, a rewritten past and a manifest out of order."""
        if start > len(self.tree):
            raise RefusedError(
                "unknown", f"entries from {len(self.tree)} on must come first, but {start} came."
            )
        known = [leaf_hash(entry) for entry in entries[: len(self.tree) - start]]
        if known != self._stored(start, len(known)):
            raise forged("entries of the log must never change, but others were known here.")
        fresh = entries[len(known) :]
        end, last, ended = self._end, self._last, list[Statement]()
        for entry in fresh:
            before, end = end, end.after(entry, terms)
            if before.terms == terms.hash != end.terms:  # others are of the past, before the agreed ones
                raise forged("terms in the log must be agreed here, but are not.")
            kind, _, content = entry.partition(b"\0")
            last = Manifest.decode(content) if kind == b"manifest" else last
            ended += _ended(kind, content, last)
        if not entries:
            return
        stored, dictionary = self.stored(entries)
        leaves = [leaf_hash(entry) for entry in fresh]
        lacking = "UPDATE log SET entry = ? WHERE place = ? AND entry IS NULL"
        rows: list[Statement] = [(lacking, (one, start + n)) for n, one in enumerate(stored[: len(known)])]
        added = zip(range(len(self.tree), start + len(entries)), leaves, stored[len(known) :])
        rows += [("INSERT INTO log VALUES (?, ?, ?)", one) for one in added]
        at_end = put_fact("end of the log", end.encode())
        self._store.write([*rows, *dictionary, *ended, at_end], durable=True)
        for leaf in leaves:
            self.tree.append(leaf)
        self._leaves.update(leaves)
        self._end, self._last = end, last

    def sign(self, federation: str, key: ServerKey) -> bytes:
        """This aggregator's signature of the head."""
        return self.unsigned_head().sign(federation, key)

    def _stored(self, start: int, count: int) -> list[bytes]:
        found = self._store.rows("SELECT leaf FROM log WHERE place >= ? ORDER BY place LIMIT ?", (start, count))
        return [bytes(leaf) for (leaf,) in found]


def _ended(kind: bytes, content: bytes, last: Manifest | None) -> list[Statement]:
    """The change by which the sum of the last round counts as released, also where this machine forgot that.

    A machine that was restored from a copy hears of rounds that it has opened itself: what it added up in this
    window it must not add up again.
    """
    if kind != b"model" or last is None or content[:8] != last.serial.to_bytes(8, "little"):
        return []
    row = (last.serial, last.hash, "released", last.phase, last.window, None, None)
    return [("INSERT OR IGNORE INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?)", row)]
