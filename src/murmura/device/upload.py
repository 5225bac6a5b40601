"""What leaves a device: the messages of one upload, and how each is sealed to whoever it is for.

Where a phase is proved, the second message needs the answer to the first: its proof is made for the challenge.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

from murmura.channel.chain import Chain
from murmura.channel.field_shares import pack_numbers
from murmura.channel.halves import halves_of
from murmura.channel.key_pairs import seal
from murmura.channel.proven_shares import ProvenUpload, parted
from murmura.channel.shares import split
from murmura.core.codec import encode
from murmura.core.contract import Phase
from murmura.core.errors import FederationError
from murmura.core.update import Arrays
from murmura.device.storage import Identity
from murmura.engine.visit import Visit
from murmura.wire import wire
from murmura.wire.admission import OwnAdmission
from murmura.wire.manifest import Manifest
from murmura.wire.proved_round import ProvedRound
from murmura.wire.terms import AggregatorAddress


@dataclass(frozen=True)
class UploadMessage:
    """One message of an upload, before it is sealed."""

    url: str
    payload: bytes
    aggregator: AggregatorAddress | None = None  # None: the coordinator, in readable mode
    committed: bytes = b""  # (32,) of a proved half: its commitment, and the challenge of its proof
    challenge: bytes = wire.NO_CHALLENGE

    @property
    def length(self) -> int:
        """Its bytes on the way."""
        return len(self.payload) + (wire.REPORT_HEADER if self.aggregator is None else wire.SHARE_HEADER)

    def sealed(
        self, head: wire.ShareHead, ticket: bytes, receipt: bytes, mark: bytes, admission: OwnAdmission | None
    ) -> bytes:
        """As it travels: for an aggregator sealed to its key, under the device's admission."""
        if self.aggregator is None:
            return wire.IndividualReport(head.manifest, head.report, ticket, mark, self.payload).encode()
        key = bytes.fromhex(self.aggregator.sealing_key)
        payload = seal(self.payload, key, head.info("payload"))
        named = self.committed or wire.digest(payload)
        shown, signature = wire.NO_ADMISSION, wire.NO_SIGNATURE
        if admission is not None:
            shown = admission.shown.encode()
            signature = admission.key.sign("report", wire.report_content(head, named))
        passed = wire.SharePass(ticket, receipt, mark, shown, named, self.challenge, signature)
        return head.encode() + seal(passed.encode(), key, head.info("pass")) + payload


@dataclass(frozen=True, eq=False)
class ProvedHalf:
    """The part of an upload that is proved once the seed aggregator has answered."""

    round: ProvedRound
    upload: ProvenUpload
    half: bytes  # of the vector

    @property
    def linked(self) -> str:
        """What says whose vector it is, in every exchange that is linked."""
        own = halves_of(self.round.circuit).linked(self.upload.vector)
        return wire.digest(pack_numbers(own)).hex()

    @cached_property
    def first(self) -> bytes:
        """The payload for the seed aggregator."""
        return self.upload.first(self.half)

    def message(self, empty: UploadMessage, answer: bytes) -> UploadMessage:
        """The message for the vector aggregator, with a proof for the challenge of an answer."""
        _, challenge, check = self.round.taken_apart(answer)
        payload = self.upload.second(self.half, challenge, check)
        return replace(empty, payload=payload, committed=parted(self.first)[1], challenge=challenge)

    def receipt(self, answer: bytes) -> tuple[bytes, bytes]:
        """The signature in an answer, and what it covers besides the mark."""
        signature, challenge, _ = self.round.taken_apart(answer)
        return signature, parted(self.first)[1] + challenge


@dataclass(frozen=True, eq=False)
class TrainedUpload:
    """What training gave: what stays, what leaves, and what that discloses."""

    state: Arrays
    messages: tuple[UploadMessage, ...]  # in the order of sending; a proved half is still without its payload
    rows: int
    joined: tuple[int, ...]
    sent: tuple[int, ...]
    disclosed: float
    proved: ProvedHalf | None = None
    linked: tuple[str, int, str] | None = None  # as `link_of` has it

    @property
    def digest(self) -> str:
        """Of everything that leaves, before it is sealed: the same after a crash."""
        half = b"" if self.proved is None else self.proved.half
        return hashlib.sha256(b"".join(one.payload for one in self.messages) + half).hexdigest()

    @property
    def length(self) -> int:
        """The bytes that leave, all recipients together."""
        proved = 0 if self.proved is None else self.proved.round.payload_bytes(wire.VECTOR)
        return sum(one.length for one in self.messages) + proved


LinkedVector = tuple[str, int, str]  # phase, window, digest of what later exchanges of the window must repeat


def link_of(before: LinkedVector | None, manifest: Manifest, proved: ProvedHalf | None) -> LinkedVector | None:
    """What later exchanges are held against after this one; refuses one that does not repeat what it follows.

    The aggregators would find it out, but that an exchange is refused would tell of a withdrawn item.
    """
    if proved is None or not proved.round.circuit.linked:
        return before
    phase, here = proved.round.phase, (manifest.window, proved.linked)
    if not phase.follows:
        return manifest.phase, *here
    if before != (phase.follows, *here):
        raise FederationError(
            f"what is shared must be what phase '{phase.follows}' counted, but it has changed since; this "
            "device sits the exchange out."
        )
    return before


def upload_messages(
    own: Identity, phase: Phase, made: Visit, chain: Chain | None, seed: bytes
) -> tuple[tuple[UploadMessage, ...], int, ProvedHalf | None]:
    """What leaves, for whom, its rows, and what is proved.

    It is of one length for everyone unless the server needs each update.
    """
    vector, letters = made.vector, f"{own.url}/letters"
    if chain is None or vector is None:
        rows = sum(map(len, made.update.tables.values()))
        return (UploadMessage(letters, encode(made.update, phase.sends)),), rows, None
    first, second = own.terms.seed_aggregator, own.terms.vector_aggregator
    if first is None or second is None:
        return (UploadMessage(letters, chain.ring.pack(vector)),), chain.rows, None
    if chain.circuit is not None:
        upload = ProvenUpload(chain.circuit, chain.vector(made.update), seed)
        proved = ProvedHalf(ProvedRound(phase, chain.circuit), upload, upload.half())
        payloads = proved.first, b""
    else:
        seed, other = split(vector, chain.ring, lambda _: seed)
        proved, payloads = None, (seed, chain.ring.pack(other))
    return (
        (
            UploadMessage(f"{first.url}/reports", payloads[0], first),
            UploadMessage(f"{second.url}/reports", payloads[1], second),
        ),
        chain.rows,
        proved,
    )
