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
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated

from pydantic import Field, StrictBool, TypeAdapter

from murmura.channel.noise_terms import NoiseTerms, Share
from murmura.channel.ring import Ring
from murmura.core.rng import Words
from murmura.wire.keys import check_signature
from murmura.wire.log import LogProof, manifest_entry
from murmura.wire.refusals import forged, malformed
from murmura.wire.signed_records import canonical, read_canonical
from murmura.wire.terms import Count, FederationTerms, Hexadecimal, PublicKey, Seconds
from murmura.wire.wire import HASH_BYTES, SIGNATURE_BYTES

LARGEST = 1 << 16  # bytes of a manifest
LARGEST_ENVELOPE = LARGEST + (1 << 13)
MOST_CHANGES = 8  # compact downloads a manifest offers
Size = Annotated[int, Field(strict=True, ge=0)]
Part = Annotated[int | float, Field(gt=0, le=1)]
_LENGTH = struct.Struct("<I")


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
class Manifest:
    """One round."""

    protocol: int
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

    def encode(self) -> bytes:
        """The canonical bytes."""
        return canonical(asdict(self))

    @cached_property
    def hash(self) -> bytes:
        """Its name: every share and ticket of the round carries it."""
        return hashlib.sha256(self.encode()).digest()

    @staticmethod
    def decode(content: bytes) -> Manifest:
        """The manifest in canonical bytes; refuses another version, other fields and other spellings."""
        return read_canonical(_MANIFEST, Manifest, content, "a manifest")

    def check_privacy(self, terms: FederationTerms) -> None:
        """Refuse a round that promises other noise than its terms."""
        if self.privacy != RoundPrivacy.of(terms.noise, self.phase):
            raise forged("a manifest must promise the noise of its terms, but promises other.")


_MANIFEST = TypeAdapter(Manifest)


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
        signatures = self.coordinator + self.seed + self.vector
        return signatures + _LENGTH.pack(len(self.content)) + self.content + self.proof.encode()

    @staticmethod
    def decode(message: bytes) -> SignedManifest:
        """From a message of plausible length."""
        at = 3 * SIGNATURE_BYTES + _LENGTH.size
        if not at < len(message) <= LARGEST_ENVELOPE:
            raise malformed(f"a signed manifest must not have {len(message)} bytes.")
        (length,) = _LENGTH.unpack_from(message, 3 * SIGNATURE_BYTES)
        if length > LARGEST or at + length > len(message):
            raise malformed("a signed manifest must be as long as it claims, but is not.")
        one, two, three = (message[n : n + SIGNATURE_BYTES] for n in (0, SIGNATURE_BYTES, 2 * SIGNATURE_BYTES))
        proof = LogProof.decode(message[at + length :])
        return SignedManifest(message[at : at + length], one, two, three, proof)

    def check(self, terms: FederationTerms) -> Manifest:
        """The manifest; refuses one that a machine of these terms did not sign, or that is not in the log."""
        check_signature(bytes.fromhex(terms.coordinator), "manifest", self.content, self.coordinator)
        for address, signature in (
            (terms.seed_aggregator, self.seed),
            (terms.vector_aggregator, self.vector),
        ):
            if address is not None:
                check_signature(bytes.fromhex(address.key), "manifest", self.content, signature)
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
        pair = (terms.seed_aggregator, self.seed), (terms.vector_aggregator, self.vector)
        for (address, signature), half in zip(pair, self.halves):
            assert address is not None
            content = sum_content(self.manifest, self.listed, half)
            check_signature(bytes.fromhex(address.key), "sum", content, signature)

    def total(self, ring: Ring) -> Words:
        """What both halves add up to."""
        return ring.add_up(ring.unpack(half) for half in self.halves)
