"""What leaves a device: the messages of one upload, and how each is sealed to whoever it is for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from murmura.channel.chain import Chain
from murmura.channel.key_pairs import seal
from murmura.channel.shares import split
from murmura.core.codec import encode
from murmura.core.contract import Phase
from murmura.core.update import Arrays
from murmura.device.storage import Identity
from murmura.engine.visit import Visit
from murmura.wire import wire
from murmura.wire.admission import OwnAdmission
from murmura.wire.terms import AggregatorAddress


@dataclass(frozen=True)
class UploadMessage:
    """One message of an upload, before it is sealed."""

    url: str
    payload: bytes
    aggregator: AggregatorAddress | None = None  # None: the coordinator, in readable mode

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
        named = wire.digest(payload)
        shown, signature = wire.NO_ADMISSION, wire.NO_SIGNATURE
        if admission is not None:
            shown = admission.shown.encode()
            signature = admission.key.sign("report", wire.report_content(head, named))
        passed = wire.SharePass(ticket, receipt, mark, shown, named, signature)
        return head.encode() + seal(passed.encode(), key, head.info("pass")) + payload


@dataclass(frozen=True, eq=False)
class TrainedUpload:
    """What training gave: what stays, what leaves, and what that discloses."""

    state: Arrays
    messages: tuple[UploadMessage, ...]  # in the order of sending
    rows: int
    joined: tuple[int, ...]
    sent: tuple[int, ...]
    disclosed: float

    @property
    def digest(self) -> str:
        """Of everything that leaves, before it is sealed: the same after a crash."""
        return hashlib.sha256(b"".join(one.payload for one in self.messages)).hexdigest()

    @property
    def length(self) -> int:
        """The bytes that leave, all recipients together."""
        return sum(one.length for one in self.messages)


def upload_messages(
    own: Identity, phase: Phase, made: Visit, chain: Chain | None, seed: bytes
) -> tuple[tuple[UploadMessage, ...], int]:
    """What leaves, for whom, and its rows; of one length for everyone unless the server needs each update."""
    vector, letters = made.vector, f"{own.url}/letters"
    if chain is None or vector is None:
        rows = sum(map(len, made.update.tables.values()))
        return (UploadMessage(letters, encode(made.update, phase.sends)),), rows
    first, second = own.terms.seed_aggregator, own.terms.vector_aggregator
    if first is None or second is None:
        return (UploadMessage(letters, chain.ring.pack(vector)),), chain.rows
    seed, other = split(vector, chain.ring, lambda _: seed)
    return (
        UploadMessage(f"{first.url}/reports", seed, first),
        UploadMessage(f"{second.url}/reports", chain.ring.pack(other), second),
    ), chain.rows
