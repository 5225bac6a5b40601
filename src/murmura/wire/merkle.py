"""An append-only Merkle tree: hashes and proofs of RFC 9162 (Certificate Transparency), section 2.1.

A leaf is SHA-256(0x00 + content), a node SHA-256(0x01 + left + right); the left half of n leaves is the largest
power of two below n. An inclusion proof shows that a leaf is in a tree, a consistency proof that a tree begins
with all leaves of an earlier one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

Hash = bytes
HASH_BYTES = 32
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
