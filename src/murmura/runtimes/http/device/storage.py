"""What a device keeps to itself, and where: in a folder of its owner's, or in memory for a simulated one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol

from murmura.channel.journal import JournalEntry
from murmura.core.consent import DisclosureMode, Permission
from murmura.core.rng import Words
from murmura.core.update import Arrays
from murmura.runtimes.http.aggregator.aggregator import pack_pair, unpack_pair
from murmura.runtimes.http.protocol.wire import pack_arrays, unpack_arrays


@dataclass(frozen=True, eq=False)
class Identity:
    """Who a device is to the coordinator, and what it draws its randomness with; nobody else has it."""

    url: str  # of the coordinator
    key: bytes  # the coordinator's public key, known since joining
    federation: str
    token: str
    secret: Words  # (2,)
    minimum: int = 100  # takes no part in a round that releases sums of fewer
    readable: bool = False  # whether its owner allows the server to read its updates
    disclosure: DisclosureMode = "sticky"
    people: tuple[str, ...] = ()  # the names of a household; empty: it has one owner


@dataclass(frozen=True)
class PendingUpload:
    """An upload that has been prepared: enough to send the same bytes again, not the update itself."""

    manifest: str
    seed: str  # of the share that is one; fresh system randomness
    digest: str  # of everything that is sent


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
        plain["exchanges"] = tuple(map(tuple, plain["exchanges"]))
        plain["pending"] = None if plain["pending"] is None else PendingUpload(**plain["pending"])
        return DeviceMemory(unpack_arrays(arrays), **plain)


class DeviceStorage(Protocol):
    """Where a device keeps things."""

    @property
    def memory(self) -> DeviceMemory:
        """What it knows now."""

    def keep(self, memory: DeviceMemory) -> None:
        """Replace it; when this returns it is safe."""

    def permission(self) -> Permission:
        """What the owner allows at this moment."""

    def note(self, entry: JournalEntry) -> None:
        """Write down an upload before it leaves, once per manifest."""


@dataclass(eq=False)
class InMemoryStorage:
    """A simulated device keeps everything in this process."""

    allowed: Permission = field(default_factory=Permission)
    memory: DeviceMemory = field(default_factory=DeviceMemory)
    notes: int = 0
    bytes_up: int = 0
    last: JournalEntry | None = None

    def keep(self, memory: DeviceMemory) -> None:
        """Replace it."""
        self.memory = memory

    def permission(self) -> Permission:
        """Always the same."""
        return self.allowed

    def note(self, entry: JournalEntry) -> None:
        """Count it."""
        if self.last is None or entry.manifest != self.last.manifest:
            self.last, self.notes, self.bytes_up = entry, self.notes + 1, self.bytes_up + entry.bytes
