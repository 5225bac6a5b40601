"""Evidence of one's own: the head of a device's journal, countersigned in every receipt.

A mark is SHA-256("murmura journal\\0" + salt (32) + head of the journal): it tells an aggregator nothing, and
with the salt it proves which journal the device had when it sent. A past that is rewritten later lacks the head
of some receipt.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from murmura.core.errors import DataError
from murmura.wire.keys import check_signature
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms

NAME = "receipts.jsonl"


@dataclass(frozen=True)
class Receipt:
    """What the machines that took an upload signed; everything in hexadecimal."""

    terms: str  # hash: whose machines signed
    manifest: str
    report: str
    head: str  # of the journal, after the line of this upload
    salt: str
    signatures: tuple[str, ...]  # of the seed and the vector aggregator, or of the coordinator

    def check(self, terms: FederationTerms) -> None:
        """Refuse a receipt that the machines of these terms did not sign."""
        keys = [one.key for one in terms.aggregators] or [terms.coordinator]
        content = bytes.fromhex(self.manifest + self.report) + mark(bytes.fromhex(self.salt), self.head)
        for key, signature in zip(keys, self.signatures, strict=True):
            check_signature(bytes.fromhex(key), "receipt", content, bytes.fromhex(signature))


def mark(salt: bytes, head: str) -> bytes:
    """What an aggregator countersigns."""
    return hashlib.sha256(b"murmura journal\0" + salt + bytes.fromhex(head)).digest()


def append_receipt(path: Path, receipt: Receipt) -> None:
    """One line more, on disk when this returns; half a line that a crash left goes."""
    line = json.dumps(asdict(receipt), sort_keys=True) + "\n"
    with path.open("ab") as file:
        known = path.read_bytes()
        file.truncate(known.rfind(b"\n") + 1)
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())


def read_receipts(path: Path) -> list[Receipt]:
    """All whole lines; refuses one that is no receipt."""
    text = path.read_text("utf-8") if path.exists() else ""
    receipts = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            read = json.loads(line)
            receipts.append(Receipt(**{**read, "signatures": tuple(read["signatures"])}))
        except (ValueError, TypeError, KeyError):
            if number < text.count("\n") + 1 or text.endswith("\n"):
                raise DataError(f"line {number} of {path} must be a receipt, but is not.") from None
    return receipts


def check_receipts(
    receipts: list[Receipt], agreed: Mapping[str, FederationTerms], heads: frozenset[str]
) -> None:
    """Refuse a journal that lacks the head of a receipt, and a receipt that nobody signed.

    `agreed` are the terms the device has taken part under, by their hashes.
    """
    for receipt in receipts:
        try:
            receipt.check(agreed[receipt.terms])
        except (RefusedError, ValueError, KeyError):
            raise DataError(
                f"the receipt of report {receipt.report} must be signed by the machines of this federation, "
                "but is not: it was changed, or is of another one."
            ) from None
        if receipt.head not in heads:
            raise DataError(
                f"the journal must contain the head {receipt.head} that was countersigned for report "
                f"{receipt.report}, but does not: its past was rewritten."
            )
