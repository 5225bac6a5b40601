"""The seam of a compiled path: it adds up what a cohort sends; the server's step is not its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.contract import FederationInfo, Phase, RoundContext, ServerState, Total
from murmura.core.population import Population, States, Tally
from murmura.core.rng import Words
from murmura.core.update import Arrays

BLOCKS, CLIENTS = 16, 64  # a cohort is cut into at most so many blocks, of at least so many clients


class VectorSlice(NamedTuple):
    """Where and how a table travels in a round."""

    place: Longs  # (rows,) where a row begins in the vector, -1: it does not travel
    clip: float  # L2 bound of the vector
    largest: float  # bound of one number
    step: float  # fixed-point numbers are multiples of this
    longest: float = np.inf  # L2 bound of what rounding has made of them: then all are rounded towards zero


class WeightedSum(Protocol):
    """A sum of histories, each item or pair of one times the weight of its person."""

    def add_histories(self, first: Longs, begins: Longs, places: Longs, sums: NDArray[np.uint64]) -> None:
        """Add those of some clients: u has the people first[u] to first[u + 1] - 1, and the person v the
        ascending places begins[v] to begins[v + 1] - 1, of which there is at least one.
        """


class CompiledChannel(Protocol):
    """The channel of one phase, as a compiled path needs it; `channel.chain.Chain` is one."""

    @property
    def words(self) -> int:
        """The length of a vector; word 0 counts devices."""

    @property
    def weighted(self) -> WeightedSum | None:
        """What is summed where each person has one weight; None: tables, by `vector_slice`."""

    def block(self, round: int) -> Ints:
        """The items whose rows travel in a round."""

    def vector_slice(self, table: str, round: int) -> VectorSlice:
        """Where and how a table travels in a round."""

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The server half, of sums that are not yet modulo anything."""


@dataclass(frozen=True, eq=False)
class CohortRound:
    """One phase of one round, and the clients that take part in it."""

    info: FederationInfo
    phase: Phase
    round: int
    model: Arrays  # the public model as clients download it
    people: Population
    clients: Ints  # (cohort,) ascending
    workers: int = 1
    chain: CompiledChannel | None = None  # the channel of the phase; None: updates are added as they are
    weights: Floats | None = None  # (cohort,) each client's whole update is multiplied by its own; None: by one

    @property
    def bounds(self) -> Longs:
        """Where the blocks of a floating-point sum begin, and the end: each is added up by itself, then all.

        A shard of a federation is one block, and is added to the others elsewhere.
        """
        alone = self.people.clients == self.info.clients
        return np.array(parts_of(len(self.clients), blocks_of(len(self.clients)) if alone else 1), np.int64)

    @property
    def everyone(self) -> bool:
        """Whether all clients take part."""
        return len(self.clients) == self.people.clients

    def client_weights(self, precision: str = "float64") -> NDArray[Any]:
        """What each client's update is multiplied by: (cohort,), an array of its own."""
        weights = 1.0 if self.weights is None else self.weights
        return np.array(np.broadcast_to(weights, len(self.clients)), precision)


def blocks_of(clients: int) -> int:
    """Into how many blocks a cohort is cut whose updates are floating-point numbers."""
    return max(1, min(BLOCKS, clients // CLIENTS))


def parts_of(n: int, parts: int) -> list[int]:
    """n things in so many nearly equal parts: where each begins, and the end."""
    return [n * k // parts for k in range(parts + 1)]


class Kernel(Protocol):
    """The compiled path of an algorithm. It changes `states` and `tally` in place."""

    path: ClassVar[str] = "kernel"  # what a training by it is said to have used
    in_blocks: ClassVar[bool] = False  # whether its floating-point sums are those of the blocks of the cohort
    weighs: ClassVar[bool] = False  # whether its sums of a training round honour the weights of the cohort

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Whether it can add up this phase, with the stages of its channel if there is one; by default all."""
        return True

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone."""

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """The sum of what the clients of a round send, and how many rows of each table it is the sum of."""

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone, in new arrays."""


@runtime_checkable
class ScoringKernel(Kernel, Protocol):
    """A kernel that scores too; where it does not, clients are asked one by one."""

    def score(self, context: RoundContext, states: States, users: Ints) -> NDArray[Any]:
        """`client_score` of a block of clients: (users, items)."""


@runtime_checkable
class SequentialKernel(Protocol):
    """A kernel that runs millions of rounds of one client each in one call, the server's step included."""

    def sequential(self, phase: Phase) -> bool:
        """Whether it runs such rounds of this phase: the server does no more than add."""

    def run_rounds(
        self,
        info: FederationInfo,
        server: ServerState,
        states: States,
        people: Population,
        tally: Tally,
        rounds: range,
        server_secret: Words,
    ) -> tuple[ServerState, int]:
        """The server after these rounds, and how many rows were sent."""
