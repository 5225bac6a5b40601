"""The public log of a federation: everything its devices are asked to believe, in one append-only tree.

Entries are `terms\\0` + terms, `manifest\\0` + manifest, `model\\0` + serial (8) + hash of the model that
round led to + hash of the counts of items which that model tells, if it does, and `resumed\\0`: a coordinator
was restored from a copy and goes on from the model it has. A head (federation, number of
entries, root) is signed by the coordinator and by both aggregators, each of which keeps the whole tree and
signs no head that does not extend the one before. A device demands that what it is shown is in the log, and
that the log extends the one it saw last: nobody can be shown a past, a manifest or a model of her own.

The tree is a Merkle tree: hashes and proofs of RFC 9162 (Certificate Transparency), section 2.1. A leaf is
SHA-256(0x00 + content), a node SHA-256(0x01 + left + right); the left half of n leaves is the largest power of
two below n. An inclusion proof shows that a leaf is in a tree, a consistency proof that a tree begins with all
leaves of an earlier one.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from murmura.wire.refusals import forged, malformed
from murmura.wire.signed_records import ServerKey, canonical
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import HASH_BYTES, NO_SIGNATURE, PackedRecord

Hash = bytes
EMPTY = hashlib.sha256().digest()


def leaf_hash(content: bytes) -> Hash:
    """The hash of an entry."""
    return hashlib.sha256(b"\0" + content).digest()


def node_hash(left: Hash, right: Hash) -> Hash:
    """The hash of two subtrees."""
    return hashlib.sha256(b"\1" + left + right).digest()


class MerkleTree:
    """The leaves, and the hash of every complete subtree, so that a proof costs its own length in hashes."""

    def __init__(self, leaves: Sequence[Hash] = ()) -> None:
        self._levels: list[list[Hash]] = [[]]
        for leaf in leaves:
            self.append(leaf)

    def __len__(self) -> int:
        return len(self._levels[0])

    @property
    def leaves(self) -> Sequence[Hash]:
        """All of them, in their order."""
        return self._levels[0]

    def append(self, leaf: Hash) -> None:
        """One leaf more."""
        level, node = 0, leaf
        while True:
            if level == len(self._levels):
                self._levels.append([])
            here = self._levels[level]
            here.append(node)
            if len(here) % 2:
                return
            node, level = node_hash(here[-2], here[-1]), level + 1

    def root(self, size: int | None = None) -> Hash:
        """The root over the first `size` leaves, by default over all."""
        size = len(self) if size is None else size
        return EMPTY if size == 0 else self._subtree(0, size)

    def inclusion(self, index: int, size: int) -> list[Hash]:
        """That leaf `index` is among the first `size`: RFC 9162, 2.1.3.1."""
        return self._path(index, 0, size)

    def consistency(self, first: int, size: int) -> list[Hash]:
        """That the first `size` leaves begin with the first `first`: RFC 9162, 2.1.4.1."""
        return [] if first in (0, size) else self._subproof(first, 0, size, True)

    def _subtree(self, start: int, size: int) -> Hash:
        level = size.bit_length() - 1
        if size == 1 << level and start % size == 0:
            return self._levels[level][start >> level]
        half = _half(size)
        return node_hash(self._subtree(start, half), self._subtree(start + half, size - half))

    def _path(self, index: int, start: int, size: int) -> list[Hash]:
        if size == 1:
            return []
        half = _half(size)
        if index < half:
            return [*self._path(index, start, half), self._subtree(start + half, size - half)]
        return [*self._path(index - half, start + half, size - half), self._subtree(start, half)]

    def _subproof(self, first: int, start: int, size: int, whole: bool) -> list[Hash]:
        if first == size:
            return [] if whole else [self._subtree(start, size)]
        half = _half(size)
        if first <= half:
            return [*self._subproof(first, start, half, whole), self._subtree(start + half, size - half)]
        return [*self._subproof(first - half, start + half, size - half, False), self._subtree(start, half)]


def includes(leaf: Hash, index: int, size: int, root: Hash, proof: Sequence[Hash]) -> bool:
    """Whether a proof shows that a leaf is at its place in a tree: RFC 9162, 2.1.3.2."""
    if not 0 <= index < size:
        return False
    place, last, found = index, size - 1, leaf
    for step in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = node_hash(step, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, step)
        place, last = place >> 1, last >> 1
    return last == 0 and found == root


def extends(first: int, before: Hash, size: int, root: Hash, proof: Sequence[Hash]) -> bool:
    """Whether a proof shows that a tree begins with all leaves of an earlier one: RFC 9162, 2.1.4.2."""
    if first > size or first < 0:
        return False
    if first == size or first == 0:
        return not proof and (first == 0 or before == root)
    steps = [before, *proof] if first & (first - 1) == 0 else list(proof)
    if not steps:
        return False
    place, last = first - 1, size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = node_hash(step, old), node_hash(step, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, step)
        place, last = place >> 1, last >> 1
    return last == 0 and old == before and new == root


def _half(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


DEEPEST = 63  # hashes of a proof: a tree of more than 2**63 entries is none
_PROOF = struct.Struct("<QQBB")
_ENTRY = struct.Struct("<I")


def manifest_entry(content: bytes) -> bytes:
    """The entry of a round."""
    return b"manifest\0" + content


def terms_entry(content: bytes) -> bytes:
    """The entry of terms: the first of a log."""
    return b"terms\0" + content


def model_entry(serial: int, model: Hash, counts: Hash = b"") -> bytes:
    """The entry of the model that a round led to, and of the counts of items it tells, if it does."""
    return b"model\0" + serial.to_bytes(8, "little") + model + counts


_RESUMED = struct.Struct("<QQ")


@dataclass(frozen=True)
class ResumedLog:
    """A restored coordinator goes on: the rounds that others have logged meanwhile are no part of its model."""

    held: int  # entries of the log that its copy had; what follows was taken over from others
    done: int  # rounds that its model has seen

    def entry(self) -> bytes:
        """As it is logged."""
        return b"resumed\0" + _RESUMED.pack(self.held, self.done)


def is_resumed(kind: bytes, content: bytes) -> bool:
    """Whether an entry says that a restored coordinator goes on."""
    return kind == b"resumed" and len(content) == _RESUMED.size


@dataclass(frozen=True)
class LoggedModel:
    """What an entry says of a model."""

    hash: str
    counts: str = ""  # hash of the counts of items it tells, "" where it tells none


def is_model(kind: bytes, content: bytes) -> bool:
    """Whether an entry is that of a model."""
    return kind == b"model" and len(content) in (8 + HASH_BYTES, 8 + 2 * HASH_BYTES)


@dataclass(frozen=True)
class LogHead(PackedRecord):
    """How long the log is and what is in it, signed."""

    said: ClassVar = "head of a log"
    layout: ClassVar = struct.Struct("<Q32s64s64s64s")

    size: int
    root: Hash
    coordinator: bytes = NO_SIGNATURE
    seed: bytes = NO_SIGNATURE
    vector: bytes = NO_SIGNATURE

    def content(self, federation: str) -> bytes:
        """What a signature of it is over."""
        return canonical({"federation": federation, "root": self.root.hex(), "size": self.size})

    def sign(self, federation: str, key: ServerKey) -> bytes:
        """A machine stands for it."""
        return key.sign("head", self.content(federation))

    def check(self, terms: FederationTerms) -> None:
        """Refuse a head that a machine of these terms did not sign."""
        signed = self.content(terms.federation)
        terms.check_signed("head", signed, self.coordinator, self.seed, self.vector)


@dataclass(frozen=True)
class LogProof:
    """A head, the proof that an entry is in it, and the proof that it extends the head published before it."""

    head: LogHead
    index: int
    before: int  # size of the head published before
    inclusion: tuple[Hash, ...]
    consistency: tuple[Hash, ...]

    def encode(self) -> bytes:
        """As it travels."""
        counts = _PROOF.pack(self.index, self.before, len(self.inclusion), len(self.consistency))
        return self.head.encode() + counts + b"".join((*self.inclusion, *self.consistency))

    @staticmethod
    def decode(message: bytes) -> LogProof:
        """From a message of exactly the length it claims."""
        start, at = LogHead.layout.size, LogHead.layout.size + _PROOF.size
        wrong = malformed("a proof of the log must be as long as it claims, but is not.")
        if len(message) < at:
            raise wrong
        index, before, inside, after = _PROOF.unpack_from(message, start)
        hashes = unpack_hashes(message[at:])
        if max(inside, after) > DEEPEST or inside + after != len(hashes):
            raise wrong
        return LogProof(LogHead.decode(message[:start]), index, before, hashes[:inside], hashes[inside:])

    def check(self, terms: FederationTerms, entry: bytes) -> None:
        """Refuse a head that is not signed, and an entry that is not in it."""
        self.head.check(terms)
        if not includes(leaf_hash(entry), self.index, self.head.size, self.head.root, self.inclusion):
            raise forged("what is shown must be in the public log, but is not; take no part.")


def pack_entries(entries: Sequence[bytes]) -> bytes:
    """Entries one after the other, each behind its length (4)."""
    return b"".join(_ENTRY.pack(len(entry)) + entry for entry in entries)


def unpack_entries(message: bytes, most: float = math.inf) -> list[bytes]:
    """The first `most` entries; refuses a message that is not as long as it claims."""
    entries, at = list[bytes](), 0
    while at < len(message) and len(entries) < most:
        end = at + _ENTRY.size
        length = _ENTRY.unpack_from(message, at)[0] if end <= len(message) else 0
        if end + length > len(message) or length == 0:
            raise malformed("entries of the log must be as long as they claim, but are not.")
        entries.append(message[end : end + length])
        at = end + length
    return entries


def unpack_hashes(message: bytes) -> tuple[Hash, ...]:
    """Hashes one after the other."""
    if len(message) % HASH_BYTES or len(message) > 2 * DEEPEST * HASH_BYTES:
        raise malformed("a proof must be whole hashes, and not too many, but is not.")
    return tuple(message[at : at + HASH_BYTES] for at in range(0, len(message), HASH_BYTES))
