"""A protocol of a secure sum, simulated: vectors of a ring go in, their sum and its price come out.

All parties live in this process, and everything that would travel between them is made, measured and opened
again. A real federation has two aggregators (`channel.shares`) and none of this.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from murmura.channel import shares as additive
from murmura.channel.chain import Chain
from murmura.channel.ring import Ring
from murmura.channel.shares import expanded_sum
from murmura.core.contract import Total
from murmura.core.errors import FederationError, SettingError
from murmura.core.plugins import imported
from murmura.core.rng import Words
from murmura.runtimes.inprocess import InProcess, PhaseVisits

Side = Literal["device", "server"]


class AbortedSumError(FederationError):
    """Too few are left to finish a sum: nothing of it is learned, and the model stays what it was."""


@dataclass
class SumCost:
    """What one sum took, of all devices together and of all servers together."""

    bytes_up: int = 0  # from devices
    seconds: dict[Side, float] = field(default_factory=lambda: {"device": 0.0, "server": 0.0})

    @contextmanager
    def at(self, side: Side) -> Iterator[None]:
        """Count the CPU seconds of this block as those of a side."""
        start = time.thread_time()
        try:
            yield
        finally:
            self.seconds[side] += time.thread_time() - start


@dataclass(frozen=True)
class DropOuts:
    """Who is lost in a round: before the upload, or after it, when the servers might ask once more."""

    before: frozenset[int] = frozenset()
    after: frozenset[int] = frozenset()

    @staticmethod
    def drawn(clients: Sequence[int], share: float, round: int) -> DropOuts:
        """A share of the devices of a round at random, half of them lost before their upload, half after it."""
        rng = np.random.default_rng((0xD0, round))
        lost = rng.permutation(clients)[: int(share * len(clients))].tolist()
        return DropOuts(frozenset(lost[::2]), frozenset(lost[1::2]))


NO_DROPOUTS = DropOuts()


class SumSession(ABC):
    """One sum that no single server can read: devices add their vectors, then it is finished or aborted.

    A protocol is one class. It begins with the devices of the sum; `lost` ones of them will not answer later
    questions.
    """

    name: ClassVar[str]
    sees: ClassVar[Mapping[str, str]]  # party -> what it gets to see
    dropouts: ClassVar[str]  # what happens when devices are lost

    def __init__(self, clients: Collection[int], ring: Ring, lost: DropOuts = NO_DROPOUTS) -> None:
        self.ring, self.lost, self.cost, self.counted = ring, lost, SumCost(), list[int]()

    def add(self, client: int, vector: Words) -> None:
        """The upload of one device."""
        self.ring.check(vector)
        if client in self.counted:
            raise FederationError(f"a device must be in a sum once, but device {client} sends again.")
        self._add(client, vector)
        self.counted.append(client)

    def finish(self) -> Words:
        """The sum of those who are counted; raises `AbortedSumError` where too few are left."""
        if not self.counted:
            raise AbortedSumError("a sum must be of at least one device, but nobody has sent.")
        return self._total()

    @abstractmethod
    def _add(self, client: int, vector: Words) -> None: ...

    @abstractmethod
    def _total(self) -> Words: ...


def split_among(vector: Words, ring: Ring, parties: int) -> tuple[list[bytes], Words]:
    """(seeds, rest): what parties - 1 seeds stand for and the rest add up to the vector."""
    seeds = list[bytes]()
    while len(seeds) < parties - 1:
        seed, vector = additive.split(vector, ring)
        seeds.append(seed)
    return seeds, vector


class AdditiveShares(SumSession):
    """n servers that each add up one share of everyone.

    Arithmetic secret sharing among n servers (thesis definition 3.8): all n shares together are the vector.

    A share that is not the last is the expansion of a seed, so another server costs an upload 32 bytes more.
    """

    name: ClassVar[str] = "additive shares"
    sees: ClassVar[Mapping[str, str]] = {
        "each server": "a share that is random alone",
        "all servers but one, together": "nothing of a device",
        "all servers together": "each update",
    }
    dropouts: ClassVar[str] = "a device that sends nothing is not in the sum; nobody is asked again"

    def __init__(
        self, clients: Collection[int], ring: Ring, lost: DropOuts = NO_DROPOUTS, parties: int = 3
    ) -> None:
        if parties < 2:
            raise SettingError(f"shares must go to at least 2 parties, but there are {parties}.")
        super().__init__(clients, ring, lost)
        self.parties, self.rests = parties, np.zeros(ring.words, ring.word)
        self.seeds: list[list[bytes]] = [[] for _ in range(parties - 1)]

    def _add(self, client: int, vector: Words) -> None:
        with self.cost.at("device"):
            seeds, rest = split_among(vector, self.ring, self.parties)
            message = self.ring.pack(rest)
        self.cost.bytes_up += len(message) + sum(map(len, seeds))
        with self.cost.at("server"):
            for held, seed in zip(self.seeds, seeds):
                held.append(seed)
            self.rests += self.ring.unpack(message)  # modulo 2**32, of which 2**24 is a divisor

    def _total(self) -> Words:
        with self.cost.at("server"):
            expanded = (expanded_sum(held, self.ring) for held in self.seeds)
            return self.ring.add_up([*expanded, self.ring.wrap(self.rests.astype(np.int64))])


# by the name that the setting `channel` gives them
PROTOCOLS = {
    "shares": "murmura.lab.protections.sum_protocol:AdditiveShares",
    "masks": "murmura.lab.protections.pairwise_masks:PairwiseMasks",
    "ckks": "murmura.lab.protections.ckks:Ckks",
}


def sum_protocol(name: str) -> type[SumSession]:
    """The protocol of that name."""
    found: type[SumSession] = imported(PROTOCOLS[name])
    return found


def protected_sum(runtime: InProcess, exchange: PhaseVisits, chain: Chain) -> Total | None:
    """The sum of an exchange by another protocol than two aggregators; None: too many were lost for a sum."""
    f, phase, clients = exchange.f, exchange.phase, exchange.clients.tolist()
    absent = DropOuts.drawn(clients, runtime.drop_out, exchange.round)
    session = sum_protocol(chain.settings.channel)(clients, chain.ring, absent)
    for client in clients:
        arrives = client not in absent.before
        vector = runtime.upload(exchange, client, arrives)
        if arrives:
            session.add(client, vector)
    try:
        total = session.finish()
    except AbortedSumError:
        if phase.repeat is not None or len(f.plan.itinerary.training) > 1:  # a sum is needed
            raise
        return None
    f.tally.bytes_up += session.cost.bytes_up - len(session.counted) * chain.upload_bytes
    f.remember_counted(phase, session.counted)
    return chain.sum_up(total.astype(np.int64), exchange.round)
