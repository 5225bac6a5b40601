"""What travels between the shards of a federation and its server, and what all of them know."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.channel.chain import Chain
from murmura.core.arrays import Ints, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import Algorithm, FederationInfo, Phase, ServerState, Total
from murmura.core.kernel import CompiledChannel, VectorSlice
from murmura.core.population import Population
from murmura.core.row_versions import RowVersions
from murmura.core.schedule import Schedule
from murmura.core.tally import Tally
from murmura.core.update import Arrays, Update
from murmura.data.populations import PopulationFiles
from murmura.engine.plan import with_used_features
from murmura.engine.round_plan import RoundPlan
from murmura.runtimes.inprocess import InProcess

ShardState = dict[str, NDArray[Any]]  # what the clients of a shard keep, and what has left them
NOBODY = Population(
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0), np.zeros((0, 2), np.uint32)
)


@dataclass(frozen=True, eq=False)
class ShardPlan(RoundPlan):
    """What every shard and the server of a training know; `people` are the clients of one shard."""

    algorithm: Algorithm
    info: FederationInfo
    schedule: Schedule = field(default_factory=Schedule)
    consent: Consent = field(default_factory=Consent)
    seed: int = 0
    channel: ChannelSettings = field(default_factory=ChannelSettings)
    runtime: InProcess = field(default_factory=InProcess)  # how the clients of one shard are visited
    people: Population = NOBODY

    def after(self, model: Arrays) -> ShardPlan:
        """The same once this public model is known: perhaps it tells how often items occur."""
        counts = self.algorithm.public_counts(model)
        if counts is None or (self.info.counts is not None and np.array_equal(counts, self.info.counts)):
            return self
        return replace(self, info=replace(self.info, counts=counts))

    @property
    def through(self) -> tuple[Phase, ...]:
        """The phases whose updates go through a channel."""
        return tuple(phase for phase in self.algorithm.phases(self.info) if phase.name in self.chains)

    def of(self, people: Population) -> ShardPlan:
        """The same with the clients of a shard; what follows from the settings is not worked out again."""
        _ = self.chains, self.server_secret
        mine = replace(self, people=people)
        known = ("itinerary", "chains", "noise", "server_secret")
        vars(mine).update({name: vars(self)[name] for name in known if name in vars(self)})
        return mine


def population_info(algorithm: Algorithm, population: PopulationFiles) -> FederationInfo:
    """What every machine knows of a federation of the clients of a population on disk."""
    counts = population.counts
    listed = np.flatnonzero(counts).astype(np.int32)
    info = FederationInfo(population.items, listed, population.clients, population.rows, counts=counts)
    info = with_used_features(algorithm, info)
    return replace(info, counts=None) if algorithm.releases_counts else info


@dataclass(frozen=True, eq=False)
class ShardServer:
    """What the server has after an exchange, and what has left all clients so far."""

    state: ServerState
    tally: Tally  # of traffic alone: whose rows left is known in the shards
    versions: RowVersions | None = None  # of the public models so far, where updates go through a channel
    series: int = 0  # how often what the model declares has changed


@dataclass(frozen=True, eq=False)
class PartialSum:
    """What the clients of some shards sent in one exchange, and what that moved."""

    sums: Longs | None  # (words,) of a channel, not yet modulo anything
    update: Update | None  # without one, the sum of floating-point updates
    count: int
    tally: Tally


@dataclass(eq=False)
class RawSums(CompiledChannel):
    """The channel of one exchange as a shard has it: sums are kept as they are, for the server half."""

    chain: Chain
    sums: Longs | None = None

    @property
    def words(self) -> int:
        """The length of a vector."""
        return self.chain.words

    def block(self, round: int) -> Ints:
        """The items whose rows travel."""
        return self.chain.block(round)

    def vector_slice(self, table: str, round: int) -> VectorSlice:
        """Where and how a table travels."""
        return self.chain.vector_slice(table, round)

    def sum_up(self, sums: Longs, round: int) -> Total:
        """Keep the sums; the server adds those of all shards before its half."""
        self.sums = sums
        return Total(Update(), int(sums[0]))
