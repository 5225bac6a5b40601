"""The binary messages of docs/wire.md: fixed headers, little-endian, lengths known before anything is read.

share   'm' 's' version kind | manifest hash (32) | report id (16) | sealed pass | sealed payload
pass    ticket (64) | receipt (64) | mark (32) | admission (104) | hash (32) | challenge (32) | signature (64)
letter  'm' 'l' version 0    | manifest hash (32) | report id (16) | ticket (64) | mark (32) | update or vector
arrays  'm' 'a' version 0    | length of a JSON list of [name, type, shape] (4) | that list | the values

Kind 0 is the share that is a seed (the receipt in its pass is zeros), kind 1 the other half of the vector. The
hash is that of the sealed payload; in kind 1 of a proved vector it is the commitment that kind 0 carried, and
the challenge is the one that it was answered with. Everywhere else the challenge is zeros.
Pass and payload are sealed to the aggregator the share is for, each for this manifest, kind and report: an
aggregator reads who may report before it reads on. Every share of a kind and a round has the same length.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from murmura.channel import key_pairs
from murmura.core.update import Arrays
from murmura.wire.refusals import RefusedError, malformed

PROTOCOL: Final = 3
SEED, VECTOR = 0, 1
HASH_BYTES, ID_BYTES, SIGNATURE_BYTES = 32, 16, 64
MARK_BYTES, ADMISSION_BYTES, CHALLENGE_BYTES = 32, 104, 32
NO_RECEIPT = NO_SIGNATURE = bytes(SIGNATURE_BYTES)
NO_ADMISSION = bytes(ADMISSION_BYTES)  # where everyone may take part
NO_CHALLENGE = bytes(CHALLENGE_BYTES)  # where nothing is proved, and before the challenge is known
_SHARE = struct.Struct(f"<2sBB{HASH_BYTES}s{ID_BYTES}s")
_REPORT = struct.Struct(f"<2sBB{HASH_BYTES}s{ID_BYTES}s{SIGNATURE_BYTES}s{MARK_BYTES}s")
_ARRAYS = struct.Struct("<2sBBI")
REPORT_HEADER = _REPORT.size
MOST_DIMENSIONS, MOST_VALUES = 32, 1 << 48  # of an array in a message
TYPES = frozenset({"<f2", "<f4", "<f8", "<u4", "<u8", "<i4", "<i8", "|u1", "|b1"})


@dataclass(frozen=True, eq=False)
class PackedRecord:
    """A record in one fixed layout: its fields one behind the other."""

    said: ClassVar[str]  # what refusals call it
    layout: ClassVar[struct.Struct]

    def encode(self) -> bytes:
        """As it travels."""
        return self.layout.pack(*(getattr(self, field.name) for field in fields(self)))

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """From a message of exactly its length."""
        check_length(content, cls.layout.size, cls.said)
        return cls(*cls.layout.unpack(content))


@dataclass(frozen=True)
class SharePass(PackedRecord):
    """Why a share is to be counted: what its aggregator checks before it reads the payload."""

    said: ClassVar = "pass of a share"
    layout: ClassVar = struct.Struct(
        f"<{SIGNATURE_BYTES}s{SIGNATURE_BYTES}s{MARK_BYTES}s{ADMISSION_BYTES}s"
        f"{HASH_BYTES}s{CHALLENGE_BYTES}s{SIGNATURE_BYTES}s"
    )

    ticket: bytes  # (64,) the coordinator's signature: the device is called
    receipt: bytes  # (64,) the seed aggregator's signature; zeros on the seed itself
    mark: bytes  # (32,) of the device's own journal: the receipt countersigns it
    admission: bytes  # (104,) who admitted the device; zeros where everyone may take part
    payload: bytes  # (32,) SHA-256 of the sealed payload; the commitment to a proved half
    challenge: bytes  # (32,) of a proved half; zeros elsewhere
    signature: bytes  # (64,) by the admission's key over manifest, report, kind and `payload`

    @property
    def proved(self) -> bytes:
        """What the receipt of the seed share covers besides the mark: commitment and challenge of a proof."""
        return b"" if self.challenge == NO_CHALLENGE else self.payload + self.challenge


SHARE_PRELUDE = _SHARE.size + SharePass.layout.size + key_pairs.OVERHEAD  # what is read before the payload
SHARE_HEADER = SHARE_PRELUDE + key_pairs.OVERHEAD  # what a share is longer than its payload


@dataclass(frozen=True)
class ShareHead:
    """Whose share it is said to be, and of which round: readable by everyone on the way."""

    kind: int
    manifest: bytes  # (32,) hash
    report: bytes  # (16,)

    def encode(self) -> bytes:
        """As it travels, before the sealed parts."""
        return _SHARE.pack(b"ms", PROTOCOL, self.kind, self.manifest, self.report)

    @staticmethod
    def decode(message: bytes, kind: int) -> ShareHead:
        """The head of a share of this kind."""
        if len(message) < SHARE_HEADER - key_pairs.OVERHEAD:
            check_length(message, SHARE_HEADER, "share, without its payload,")
        magic, version, sent, manifest, report = _SHARE.unpack_from(message)
        check_head(magic, version, b"ms", "share")
        if sent != kind:
            raise malformed(f"this aggregator takes shares of kind {kind}, but this one is of {sent}.")
        return ShareHead(kind, manifest, report)

    @property
    def signed(self) -> bytes:
        """What receipts and signatures of devices begin with."""
        return self.manifest + self.report

    def info(self, part: str) -> bytes:
        """What one of the two sealed parts is for: 'pass' or 'payload'."""
        return b"murmura " + part.encode() + b"\0" + self.manifest + bytes([self.kind]) + self.report


def sealed_pass(message: bytes) -> bytes:
    """The sealed pass in the first bytes of a share."""
    return message[_SHARE.size : SHARE_PRELUDE]


def sealed_payload(message: bytes | bytearray) -> memoryview:
    """The sealed payload of a share, where it is: it is long."""
    return memoryview(message)[SHARE_PRELUDE:]


def report_content(head: ShareHead, payload: bytes) -> bytes:
    """What a device signs with its admission's key; `payload` is that of its pass."""
    return head.signed + bytes([head.kind]) + payload


def digest(content: bytes | memoryview) -> bytes:
    """SHA-256."""
    return hashlib.sha256(content).digest()


@dataclass(frozen=True)
class IndividualReport:
    """An update the server can read."""

    manifest: bytes
    report: bytes
    ticket: bytes
    mark: bytes
    update: bytes

    def encode(self) -> bytes:
        """As it travels."""
        head = _REPORT.pack(b"ml", PROTOCOL, 0, self.manifest, self.report, self.ticket, self.mark)
        return head + self.update

    @staticmethod
    def decode(message: bytes | bytearray) -> IndividualReport:
        """The individual report in a message."""
        if len(message) < REPORT_HEADER:
            check_length(message, REPORT_HEADER, "letter")
        magic, version, _, manifest, report, ticket, mark = _REPORT.unpack_from(message)
        check_head(magic, version, b"ml", "letter")
        return IndividualReport(manifest, report, ticket, mark, bytes(memoryview(message)[REPORT_HEADER:]))


def check_length(message: bytes | bytearray, needed: int, what: str) -> None:
    """Refuse a message of another length."""
    if len(message) != needed:
        raise malformed(f"a {what} must be {needed} bytes long, but has {len(message)}.")


def check_head(magic: bytes, version: int, expected: bytes, what: str) -> None:
    """Refuse another kind of message, or another version of this one."""
    if magic != expected:
        raise malformed(f"a {what} must begin with {expected!r}, but begins with {magic!r}.")
    check_version(version)


def check_version(version: object) -> None:
    """Refuse a version this side does not speak."""
    if type(version) is not int or version != PROTOCOL:
        raise RefusedError(
            "version",
            f"the protocol's version must be {PROTOCOL}, but it is {str(version)[:20]}; update Murmura on the "
            "side that has the older one.",
        )


def pack_pair(first: bytes, second: bytes) -> bytes:
    """Two messages as one: length of the first (4 bytes), first, second."""
    return len(first).to_bytes(4, "little") + first + second


def unpack_pair(message: bytes, what: str = "two messages in one") -> tuple[bytes, bytes]:
    """The opposite."""
    length = int.from_bytes(message[:4], "little")
    if len(message) < 4 + length:
        raise malformed(f"{what} must be as long as claimed, but is not.")
    return message[4 : 4 + length], message[4 + length :]


def pack_ids(ids: Iterable[bytes]) -> bytes:
    """A set of report ids: ascending, one after the other."""
    return b"".join(sorted(ids))


def unpack_ids(packed: bytes) -> list[bytes]:
    """The report ids; refuses disorder, repeats and half an id."""
    ids = [packed[at : at + ID_BYTES] for at in range(0, len(packed), ID_BYTES)]
    if len(packed) % ID_BYTES or any(a >= b for a, b in pairwise(ids)):
        raise malformed("report ids must be 16 bytes each, ascending and each once, but are not.")
    return ids


def pack_arrays(arrays: Arrays) -> bytes:
    """Named arrays as one message; equal arrays, equal bytes."""
    listed = [(name, _little(arrays[name])) for name in sorted(arrays)]
    index = json.dumps([[name, a.dtype.str, list(a.shape)] for name, a in listed]).encode()
    return _ARRAYS.pack(b"ma", PROTOCOL, 0, len(index)) + index + b"".join(a.tobytes() for _, a in listed)


def unpack_arrays(message: bytes) -> dict[str, NDArray[Any]]:
    """The arrays; every length is checked before anything is made."""
    if len(message) < _ARRAYS.size:
        check_length(message, _ARRAYS.size, "message of arrays")
    magic, version, _, length = _ARRAYS.unpack_from(message)
    check_head(magic, version, b"ma", "message of arrays")
    at = _ARRAYS.size + length
    index = _index(message[_ARRAYS.size : at])
    sizes = [math.prod(shape) * np.dtype(kind).itemsize for _, kind, shape in index]
    check_length(message, at + sum(sizes), "message of arrays")
    arrays: dict[str, NDArray[Any]] = {}
    for (name, kind, shape), size in zip(index, sizes):
        read = np.frombuffer(message, np.dtype(kind), math.prod(shape), at).reshape(shape)
        arrays[name] = read.astype(read.dtype.newbyteorder("="))
        at += size
    return arrays


def _index(text: bytes) -> list[tuple[str, str, list[int]]]:
    try:
        read = [(str(name), str(kind), [int(n) for n in shape]) for name, kind, shape in json.loads(text)]
    except (ValueError, TypeError, OverflowError, RecursionError):
        read = [("", "", [])]
    if not all(kind in TYPES and _can_be_made(shape) for _, kind, shape in read):
        raise malformed("a message of arrays must list its names, types and shapes, but does not.")
    return read


def _can_be_made(shape: list[int]) -> bool:
    """Whether numpy knows such arrays: also an empty one has so many dimensions and no larger ones."""
    whole = len(shape) <= MOST_DIMENSIONS and min(shape, default=0) >= 0
    return whole and math.prod(max(n, 1) for n in shape) < MOST_VALUES


def _little(array: NDArray[Any]) -> NDArray[Any]:
    # ascontiguousarray would make a scalar one-dimensional
    return np.asarray(array, np.asarray(array).dtype.newbyteorder("<"), order="C")
