"""A sum as its two aggregators released it: both halves, each with its signature.

Where a sum tells the counts of items, a later round is made by them. A device cannot know whether the counts it
is shown are those; each aggregator can, as its own signature is on one half and the other's on the other.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from murmura.channel.ring import Ring
from murmura.core.rng import Words
from murmura.wire.keys import check_signature
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.wire import HASH_BYTES, SIGNATURE_BYTES

_HEAD = struct.Struct(f"<{HASH_BYTES}s{HASH_BYTES}s{SIGNATURE_BYTES}s{SIGNATURE_BYTES}s")


def sum_content(manifest: bytes, listed: bytes, half: bytes) -> bytes:
    """What an aggregator signs of a sum: the round, the SHA-256 of its list of reports, its half."""
    return manifest + listed + half


@dataclass(frozen=True)
class ReleasedSum:
    """What the coordinator got for one round."""

    manifest: bytes  # (32,) hash of the round
    listed: bytes  # (32,) SHA-256 of the list of reports: the list itself is nobody's business
    seed: bytes  # (64,) signatures, each of its own half
    vector: bytes
    halves: tuple[bytes, bytes]  # the seed aggregator's and the vector aggregator's, packed

    @staticmethod
    def of(manifest: bytes, ids: bytes, seed: tuple[bytes, bytes], vector: tuple[bytes, bytes]) -> ReleasedSum:
        """From the list of reports and two pairs of signature and half."""
        listed = hashlib.sha256(ids).digest()
        return ReleasedSum(manifest, listed, seed[0], vector[0], (seed[1], vector[1]))

    @staticmethod
    def longest(half: int) -> int:
        """The bytes of one whose halves have so many."""
        return _HEAD.size + 2 * half

    def encode(self) -> bytes:
        """As it travels: round (32), hash of the list (32), two signatures (64 each), two halves."""
        return _HEAD.pack(self.manifest, self.listed, self.seed, self.vector) + b"".join(self.halves)

    @staticmethod
    def decode(message: bytes) -> ReleasedSum:
        """From two halves of one length behind a head."""
        if len(message) < _HEAD.size or (len(message) - _HEAD.size) % 2:
            raise RefusedError("malformed", "a released sum must have two halves of one length, but has not.")
        middle = (_HEAD.size + len(message)) // 2
        manifest, listed, seed, vector = _HEAD.unpack_from(message)
        return ReleasedSum(manifest, listed, seed, vector, (message[_HEAD.size : middle], message[middle:]))

    def check(self, terms: FederationTerms) -> None:
        """Refuse a half that its aggregator did not sign."""
        pair = (terms.seed_aggregator, self.seed), (terms.vector_aggregator, self.vector)
        for (address, signature), half in zip(pair, self.halves):
            assert address is not None
            content = sum_content(self.manifest, self.listed, half)
            check_signature(bytes.fromhex(address.key), "sum", content, signature)

    def total(self, ring: Ring) -> Words:
        """What both halves add up to."""
        return ring.add_up(ring.unpack(half) for half in self.halves)
