"""What is signed about one round: its manifest, and the sum that it ended with.

A manifest is JSON in canonical form, named by the SHA-256 of exactly those bytes. It says what changes from
round to round; everything else is in the terms it names, which a device has pinned. It travels with the
signatures of all three machines, with the head of the public log and the proof that it is in there.

A released sum is both halves, each with the signature of its aggregator. Where a sum tells the counts of items,
a later round is made by them. A device cannot know whether the counts it is shown are those; each aggregator
can, as its own signature is on one half and the other's on the other.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from numpy.typing import NDArray
from pydantic import Field, StrictBool

from murmura.channel.chain import Chain
from murmura.channel.noise_terms import NoiseTerms, Share
from murmura.wire.log import LogProof, is_model, is_resumed, manifest_entry
from murmura.wire.refusals import forged, malformed
from murmura.wire.signed_records import (
    LARGEST,
    Count,
    Hexadecimal,
    PublicKey,
    Seconds,
    SignedRecord,
    check_signature,
)
from murmura.wire.terms import SIGNED, FederationTerms, signatures
from murmura.wire.wire import HASH_BYTES, SIGNATURE_BYTES, pack_pair, unpack_pair

LARGEST_ENVELOPE = LARGEST + (1 << 13)
MOST_CHANGES = 8  # compact downloads a manifest offers
Size = Annotated[int, Field(strict=True, ge=0)]
Part = Annotated[int | float, Field(gt=0, le=1)]


@dataclass(frozen=True)
class Download:
    """Something published under a hash: its length is known before it is fetched."""

    hash: PublicKey
    bytes: Count
    base: Hexadecimal = ""  # "": the whole model; otherwise the rows that changed since the model of that hash


@dataclass(frozen=True)
class RoundPrivacy:
    """What noise bounds, as the terms have it: said in every round, so that nobody has to look it up."""

    noise: Share  # what each aggregator adds to the sum of this round, over the longest contribution
    epsilon: Share  # of all rounds together, for who answers no more often than the terms say
    delta: Share
    unit: str
    against: str

    @staticmethod
    def of(noise: NoiseTerms, phase: str) -> RoundPrivacy | None:
        """Of a round of this phase."""
        if not noise:
            return None
        return RoundPrivacy(noise.of_phase(phase), noise.epsilon, noise.delta, noise.unit, noise.against)


@dataclass(frozen=True)
class Manifest(SignedRecord):
    """One round; every share and ticket of it carries the manifest's hash."""

    said: ClassVar = "a manifest"

    protocol: Literal[3]
    terms: PublicKey  # hash
    federation: Hexadecimal
    serial: Count  # counted from 0: one manifest each
    round: Count  # what a device draws its randomness with; an exchange that failed is done again under another
    window: Count  # the release window it lies in
    nonce: Hexadecimal
    previous: Hexadecimal  # hash of the manifest before this one, "" for the first
    phase: str
    part: Part  # the public part of the devices that is asked: 1, all of them
    part_seed: Hexadecimal  # what that part is drawn with, "" for all
    model: Download
    changes: Annotated[list[Download], Field(max_length=MOST_CHANGES)]  # shorter ways to the same model
    shapes: Mapping[str, list[Size]]  # of the model's arrays
    counts: (
        Download | None
    )  # how often each item occurs, where an exchange of this window has told; None: unknown
    answers: StrictBool  # devices fetch an answer of their own first
    called: Count  # how many devices
    largest: Count  # no round of this phase calls more
    opened: Seconds  # seconds since 1970
    deadline: Seconds
    hold: Seconds  # seconds a device waits at least before it sends: longer than training takes
    spread: Seconds  # and the width of the window its sending time is drawn from
    privacy: RoundPrivacy | None  # what noise bounds; None: nothing does

    def check_privacy(self, terms: FederationTerms) -> None:
        """Refuse a round that promises other noise than its terms."""
        if self.privacy != RoundPrivacy.of(terms.noise, self.phase):
            raise forged("a manifest must promise the noise of its terms, but promises other.")


@dataclass(frozen=True)
class SignedManifest:
    """A manifest as devices get it: who stands for it, and where it is in the public log."""

    content: bytes
    coordinator: bytes  # (64,) signatures
    seed: bytes  # zeros in readable mode
    vector: bytes
    proof: LogProof

    @cached_property
    def manifest(self) -> Manifest:
        """What it says; its signatures are not checked by this."""
        return Manifest.decode(self.content)

    def encode(self) -> bytes:
        """As it travels: three signatures, length of the manifest (4), manifest, proof."""
        return self.coordinator + self.seed + self.vector + pack_pair(self.content, self.proof.encode())

    @staticmethod
    def decode(message: bytes) -> SignedManifest:
        """From a message of plausible length."""
        if not SIGNED < len(message) <= LARGEST_ENVELOPE:
            raise malformed(f"a signed manifest must not have {len(message)} bytes.")
        content, proof = unpack_pair(message[SIGNED:], "a signed manifest")
        return SignedManifest(content, *signatures(message), LogProof.decode(proof))

    def check(self, terms: FederationTerms) -> Manifest:
        """The manifest; refuses one that a machine of these terms did not sign, or that is not in the log."""
        terms.check_signed("manifest", self.content, self.coordinator, self.seed, self.vector)
        self.proof.check(terms, manifest_entry(self.content))
        self.manifest.check_privacy(terms)
        return self.manifest


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
            raise malformed("a released sum must have two halves of one length, but has not.")
        middle = (_HEAD.size + len(message)) // 2
        manifest, listed, seed, vector = _HEAD.unpack_from(message)
        return ReleasedSum(manifest, listed, seed, vector, (message[_HEAD.size : middle], message[middle:]))

    def check(self, terms: FederationTerms) -> None:
        """Refuse a half that its aggregator did not sign."""
        for address, signature, half in zip(terms.aggregators, (self.seed, self.vector), self.halves):
            check_signature(address.key, "sum", sum_content(self.manifest, self.listed, half), signature)

    def total(self, chain: Chain) -> NDArray[Any]:
        """What both halves add up to."""
        return chain.add_up(chain.unpack_total(half) for half in self.halves)


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
                raise forged("terms in the log must be of this federation, but are not.")
            serial = self.serial if read.lost is None else max(self.serial, read.lost.serial - 1)
            return replace(self, terms=read.hash, serial=serial)
        if not self.terms:
            raise malformed("a log must begin with the terms, but begins with something else.")
        if kind == b"manifest":
            return self._after_manifest(Manifest.decode(content), terms)
        if is_resumed(kind, content) or (is_model(kind, content) and self.serial >= 0):
            return self
        raise malformed("an entry of the log must be terms, a manifest, a model or a resumption, but is not.")

    def _after_manifest(self, manifest: Manifest, terms: FederationTerms) -> LogEnd:
        if (manifest.serial, manifest.previous) != (self.serial + 1, self.manifest.hex()):
            raise forged(f"manifest {self.serial + 1} must be logged next, after the one before, but is not.")
        if manifest.terms != self.terms.hex() or manifest.federation != terms.federation:
            raise forged("a manifest must be made under the agreed terms, but is not.")
        return replace(self, serial=manifest.serial, manifest=manifest.hash)
