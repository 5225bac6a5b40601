"""The binary messages of docs/wire.md: fixed headers, little-endian, lengths known before anything is read.

share   'm' 's' version kind | manifest hash (32) | report id (16) | ticket (64) | receipt (64) | payload
letter  'm' 'l' version 0    | manifest hash (32) | report id (16) | ticket (64) | an update or a ring vector
arrays  'm' 'a' version 0    | length of a JSON list of [name, type, shape] (4) | that list | the values

Kind 0 is the share that is a seed (its receipt is zeros), kind 1 the share that is a ring vector. Every share
of a kind and a round has the same length, whoever sends it.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmura.core.update import Arrays
from murmura.runtimes.http.protocol.refusals import RefusedError

PROTOCOL: Final = 1
SUPPORTED: Final = frozenset({PROTOCOL})
SEED, VECTOR = 0, 1
HASH_BYTES, ID_BYTES, SIGNATURE_BYTES = 32, 16, 64
NO_RECEIPT = bytes(SIGNATURE_BYTES)
_SHARE = struct.Struct(f"<2sBB{HASH_BYTES}s{ID_BYTES}s{SIGNATURE_BYTES}s{SIGNATURE_BYTES}s")
_REPORT = struct.Struct(f"<2sBB{HASH_BYTES}s{ID_BYTES}s{SIGNATURE_BYTES}s")
_ARRAYS = struct.Struct("<2sBBI")
SHARE_HEADER, REPORT_HEADER = _SHARE.size, _REPORT.size
TYPES = frozenset({"<f2", "<f4", "<f8", "<u4", "<i4", "<i8", "|u1", "|b1"})


@dataclass(frozen=True)
class ShareMessage:
    """One of the two halves of a report."""

    kind: int
    manifest: bytes  # (32,) hash
    report: bytes  # (16,)
    ticket: bytes  # (64,) the coordinator's signature
    receipt: bytes  # (64,) the seed aggregator's signature; zeros on the seed itself
    payload: bytes

    def encode(self) -> bytes:
        """As it travels."""
        head = _SHARE.pack(b"ms", PROTOCOL, self.kind, self.manifest, self.report, self.ticket, self.receipt)
        return head + self.payload

    @staticmethod
    def decode(message: bytes, kind: int, payload_bytes: int) -> ShareMessage:
        """The share in a message of exactly the right length."""
        check_length(message, SHARE_HEADER + payload_bytes, "share")
        magic, version, sent, manifest, report, ticket, receipt = _SHARE.unpack_from(message)
        check_head(magic, version, b"ms", "share")
        if sent != kind:
            raise RefusedError(
                "malformed", f"this aggregator takes shares of kind {kind}, but this one is of {sent}."
            )
        return ShareMessage(kind, manifest, report, ticket, receipt, message[SHARE_HEADER:])


def share_manifest(message: bytes) -> bytes:
    """The hash of the manifest a share names, before the rest of it is read."""
    return message[4 : 4 + HASH_BYTES]


def with_receipt(message: bytes, receipt: bytes) -> bytes:
    """The share with the receipt of its twin in its place."""
    return message[: SHARE_HEADER - SIGNATURE_BYTES] + receipt + message[SHARE_HEADER:]


@dataclass(frozen=True)
class IndividualReport:
    """An update the server can read."""

    manifest: bytes
    report: bytes
    ticket: bytes
    update: bytes

    def encode(self) -> bytes:
        """As it travels."""
        return _REPORT.pack(b"ml", PROTOCOL, 0, self.manifest, self.report, self.ticket) + self.update

    @staticmethod
    def decode(message: bytes) -> IndividualReport:
        """The individual report in a message."""
        if len(message) < REPORT_HEADER:
            check_length(message, REPORT_HEADER, "letter")
        magic, version, _, manifest, report, ticket = _REPORT.unpack_from(message)
        check_head(magic, version, b"ml", "letter")
        return IndividualReport(manifest, report, ticket, message[REPORT_HEADER:])


def check_length(message: bytes, needed: int, what: str) -> None:
    """Refuse a message of another length."""
    if len(message) != needed:
        raise RefusedError("malformed", f"a {what} must be {needed} bytes long, but has {len(message)}.")


def check_head(magic: bytes, version: int, expected: bytes, what: str) -> None:
    """Refuse another kind of message, or another version of this one."""
    if magic != expected:
        raise RefusedError("malformed", f"a {what} must begin with {expected!r}, but begins with {magic!r}.")
    check_version(version)


def check_version(version: object) -> None:
    """Refuse a version this side does not speak."""
    if type(version) is not int or version not in SUPPORTED:
        raise RefusedError(
            "version",
            f"the protocol's version must be one of {sorted(SUPPORTED)}, but it is {str(version)[:20]}; "
            "install the same version of Murmura on both sides.",
        )


def pack_ids(ids: Iterable[bytes]) -> bytes:
    """A set of report ids: ascending, one after the other."""
    return b"".join(sorted(ids))


def unpack_ids(packed: bytes) -> list[bytes]:
    """The report ids; refuses disorder, repeats and half an id."""
    ids = [packed[at : at + ID_BYTES] for at in range(0, len(packed), ID_BYTES)]
    if len(packed) % ID_BYTES or any(a >= b for a, b in pairwise(ids)):
        raise RefusedError(
            "malformed", "report ids must be 16 bytes each, ascending and each once, but are not."
        )
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
    except (ValueError, TypeError):
        read = [("", "", [])]
    if any(kind not in TYPES or min(shape, default=0) < 0 for _, kind, shape in read):
        raise RefusedError(
            "malformed", "a message of arrays must list its names, types and shapes, but does not."
        )
    return read


def _little(array: NDArray[Any]) -> NDArray[Any]:
    # ascontiguousarray would make a scalar one-dimensional
    return np.asarray(array, np.asarray(array).dtype.newbyteorder("<"), order="C")
