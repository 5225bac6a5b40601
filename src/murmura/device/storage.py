"""What a device keeps to itself: in a folder of its owner's, or in memory for a simulated one.

A receipt countersigns a mark, SHA-256("murmura journal\\0" + salt (32) + head of the journal): it tells an
aggregator nothing, and with the salt it proves which journal the device had when it sent. A past that is
rewritten later lacks the head of some receipt.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from murmura.channel.noise_terms import epsilon_of
from murmura.core.consent import DisclosureMode, Permission
from murmura.core.errors import DataError
from murmura.core.rng import Words
from murmura.core.update import Arrays
from murmura.device.journal import START, JournalEntry
from murmura.wire.admission import OwnAdmission
from murmura.wire.log import LogHead
from murmura.wire.refusals import RefusedError, forged
from murmura.wire.signed_records import check_signature
from murmura.wire.terms import FederationTerms, LostLog
from murmura.wire.wire import pack_arrays, pack_pair, unpack_arrays, unpack_pair

RECEIPTS = "receipts.jsonl"


@dataclass(frozen=True)
class Receipt:
    """What the machines that took an upload signed; everything in hexadecimal."""

    terms: str  # hash: whose machines signed
    manifest: str
    report: str
    head: str  # of the journal, after the line of this upload
    salt: str
    signatures: tuple[str, ...]  # of the seed and the vector aggregator, or of the coordinator
    proved: str = ""  # commitment and challenge of what was proved: the seed aggregator's covers them too

    def check(self, terms: FederationTerms) -> None:
        """Refuse a receipt that the machines of these terms did not sign."""
        keys = [one.key for one in terms.aggregators] or [terms.coordinator]
        content = bytes.fromhex(self.manifest + self.report) + mark(bytes.fromhex(self.salt), self.head)
        covered = [content + bytes.fromhex(self.proved), content]
        for said, key, signature in zip(covered, keys, self.signatures):
            check_signature(key, "receipt", said, bytes.fromhex(signature))
        if len(keys) != len(self.signatures):
            raise forged(f"a receipt must have {len(keys)} signatures, but has {len(self.signatures)}.")


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


REMEMBERED = 64  # exchanges a device remembers, to answer none twice


@dataclass(frozen=True, eq=False)
class Identity:
    """Who a device is, what it pinned when it joined, what it draws its randomness with; nobody else has it."""

    url: str  # of the coordinator
    terms: FederationTerms  # no others are taken part under
    token: str
    secret: Words  # (2,)
    place: int = -1  # its number in the federation
    admission: OwnAdmission | None = None  # None in an open federation
    minimum: int = 100  # takes no part in a round that releases sums of fewer
    readable: bool = False  # whether its owner allows the server to read its updates
    exact: bool = False  # whether she allows sums without noise of which everybody can read counts of items
    disclosure: DisclosureMode = "sticky"
    people: tuple[str, ...] = ()  # the names of a household; empty: it has one owner

    @property
    def disallowed(self) -> dict[str, str]:
        """What the terms have and its owner does not allow: the option that would, and the label."""
        return {name: label for name, label in self.terms.labels.items() if not getattr(self, name)}


@dataclass(frozen=True)
class PendingUpload:
    """An upload that has been prepared: enough to send the same again, not the update itself."""

    manifest: str
    seed: str  # of the share that is one; fresh system randomness
    salt: str  # of the mark that its receipts countersign
    digest: str  # of everything that is sent, before it is sealed


@dataclass(frozen=True, eq=False)
class DeviceMemory:
    """What a device has learned; replaced as a whole or not at all."""

    state: Arrays = field(default_factory=dict)  # p_u; empty before the first round
    serial: int = -1  # of the last manifest that is dealt with
    manifest: str = ""  # its hash
    exchanges: tuple[tuple[int, str], ...] = ()  # (round, phase) of the last uploads, to answer none twice
    joined: tuple[int, ...] = ()  # items in the shared set, in the order they joined
    sent: tuple[int, ...] = ()  # items ever disclosed
    pending: PendingUpload | None = None
    log: tuple[int, str] = (0, "")  # size and root of the newest head of the log that was seen
    answered: tuple[
        tuple[str, int, int], ...
    ] = ()  # (phase, window, how often), of training where noise counts
    spent: float = 0.0  # mu squared of all uploads whose sums had noise
    unbounded: int = 0  # uploads whose sums had none
    linked: tuple[str, int, str] | None = None  # phase, window and digest of what later exchanges must repeat

    @property
    def head(self) -> LogHead | None:
        """The newest head of the log that was seen."""
        return LogHead(self.log[0], bytes.fromhex(self.log[1])) if self.log[1] else None

    def exchanging(self, round: int, phase: str) -> DeviceMemory:
        """An exchange is answered, or answered again after a crash."""
        others = tuple(one for one in self.exchanges if one != (round, phase))
        return replace(self, exchanges=(*others, (round, phase))[-REMEMBERED:])

    def answers(self, phase: str, window: int) -> int:
        """How often an exchange of the opening was answered in a window."""
        return next((n for name, at, n in self.answered if (name, at) == (phase, window)), 0)

    def answering(self, phase: str, window: int) -> DeviceMemory:
        """It is answered once more; what was answered in earlier windows is of no use."""
        others = tuple(one for one in self.answered if one[0] != phase)
        return replace(self, answered=(*others, (phase, window, self.answers(phase, window) + 1)))

    def spending(self, multiplier: float) -> DeviceMemory:
        """One upload more, to a sum with noise of this multiple of the longest contribution; 0: without."""
        if not multiplier:
            return replace(self, unbounded=self.unbounded + 1)
        return replace(self, spent=self.spent + multiplier**-2)

    def epsilon(self, delta: float) -> float:
        """What noise bounds all uploads so far to; infinite where one had none."""
        return math.inf if self.unbounded else epsilon_of(math.sqrt(self.spent), delta)

    def ended(self, lost: LostLog) -> DeviceMemory:
        """The owner agrees that the log ends there; what was answered stays, and no number comes back."""
        return self if self.log[0] <= lost.entries else replace(self, log=(lost.entries, lost.root))

    def dealt_with(self, serial: int, manifest: str) -> DeviceMemory:
        """This manifest needs nothing more."""
        return replace(self, serial=serial, manifest=manifest, pending=None)

    def encode(self) -> bytes:
        """As it is kept."""
        plain = asdict(replace(self, state={}))
        del plain["state"]
        return pack_pair(json.dumps(plain).encode(), pack_arrays(self.state))

    @staticmethod
    def decode(content: bytes) -> DeviceMemory:
        """From what was kept."""
        text, arrays = unpack_pair(content)
        plain = json.loads(text)
        plain |= {name: tuple(plain[name]) for name in ("joined", "sent")}
        plain |= {name: tuple(map(tuple, plain[name])) for name in ("exchanges", "answered")}
        plain["log"] = tuple(plain["log"])
        plain["linked"] = None if plain["linked"] is None else tuple(plain["linked"])
        plain["pending"] = None if plain["pending"] is None else PendingUpload(**plain["pending"])
        return DeviceMemory(unpack_arrays(arrays), **plain)


@dataclass(eq=False)
class InMemoryStorage:
    """A simulated device keeps everything in this process; `DeviceFolder` is what a real one has."""

    allowed: Permission = field(default_factory=Permission)
    memory: DeviceMemory = field(default_factory=DeviceMemory)
    notes: int = 0
    bytes_up: int = 0
    last: JournalEntry | None = None
    receipt: Receipt | None = None  # the last one

    def keep(self, memory: DeviceMemory) -> None:
        """Replace it."""
        self.memory = memory

    def permission(self) -> Permission:
        """Always the same."""
        return self.allowed

    def keep_place(self, place: int) -> None:
        """It lasts as long as the device's identity does."""

    def note(self, entry: JournalEntry) -> str:
        """Count it."""
        if self.last is None or entry.manifest != self.last.manifest:
            self.last, self.notes, self.bytes_up = entry, self.notes + 1, self.bytes_up + entry.bytes
        return START

    def keep_receipt(self, receipt: Receipt) -> None:
        """Replace it."""
        self.receipt = receipt
