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

from murmura.channel.chain import Chain
from murmura.channel.ring import Ring
from murmura.core.contract import Total
from murmura.core.errors import FederationError
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


@dataclass(frozen=True, eq=False)
class ProtectedSum:
    """The sum of those who were counted, and what it cost."""

    total: Words
    counted: tuple[int, ...]
    cost: SumCost


class SumSession(ABC):
    """One sum: devices add their vectors one after the other, then it is finished or aborted."""

    def __init__(self, ring: Ring) -> None:
        self.ring, self.cost, self.counted = ring, SumCost(), list[int]()

    def add(self, client: int, vector: Words) -> None:
        """The upload of one device."""
        self.ring.check(vector)
        if client in self.counted:
            raise FederationError(f"a device must be in a sum once, but device {client} sends again.")
        self._add(client, vector)
        self.counted.append(client)

    def finish(self) -> ProtectedSum:
        """The sum; raises `AbortedSumError` where too few are left."""
        if not self.counted:
            raise AbortedSumError("a sum must be of at least one device, but nobody has sent.")
        return ProtectedSum(self._total(), tuple(self.counted), self.cost)

    @abstractmethod
    def _add(self, client: int, vector: Words) -> None: ...

    @abstractmethod
    def _total(self) -> Words: ...


class SumProtocol(ABC):
    """A way to add vectors that no single server can read."""

    name: ClassVar[str]
    sees: ClassVar[Mapping[str, str]]  # party -> what it gets to see
    dropouts: ClassVar[str]  # what happens when devices are lost

    @abstractmethod
    def begin(self, clients: Collection[int], ring: Ring, lost: DropOuts = NO_DROPOUTS) -> SumSession:
        """A sum of these devices; `lost` ones of them will not answer later questions."""


# by the name that the setting `channel` gives them
PROTOCOLS = {
    "shares": "murmura.lab.protections.secret_sharing:three_shares",
    "masks": "murmura.lab.protections.pairwise_masks:PairwiseMasks",
    "ckks": "murmura.lab.protections.ckks:Ckks",
}


def sum_protocol(name: str) -> SumProtocol:
    """The protocol of that name."""
    made: SumProtocol = imported(PROTOCOLS[name])()
    return made


def protected_sum(runtime: InProcess, exchange: PhaseVisits, chain: Chain) -> Total | None:
    """The sum of an exchange by another protocol than two aggregators; None: too many were lost for a sum."""
    f, phase, clients = exchange.f, exchange.phase, exchange.clients.tolist()
    absent = DropOuts.drawn(clients, runtime.drop_out, exchange.round)
    session = sum_protocol(chain.settings.channel).begin(clients, chain.ring, absent)
    for client in clients:
        arrives = client not in absent.before
        vector = runtime.upload(exchange, client, arrives)
        if arrives:
            session.add(client, vector)
    try:
        summed = session.finish()
    except AbortedSumError:
        if phase.repeat is not None or len(f.plan.itinerary.training) > 1:  # a sum is needed
            raise
        return None
    f.tally.bytes_up += summed.cost.bytes_up - len(summed.counted) * chain.upload_bytes
    f.remember_counted(phase, summed.counted)
    return chain.sum_up(summed.total.astype(np.int64), exchange.round)
