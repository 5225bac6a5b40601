"""The seam of a compiled path: every client of a simulation in flat arrays, without a Python object each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Bytes, Floats, Ints, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.disclosure import Disclosure
from murmura.core.federation import Call, History, Phase, Public, ServerState, Total
from murmura.core.rng import Purpose, Rng, Words
from murmura.core.update import Arrays

States = dict[str, NDArray[Any]]  # name -> (clients, ...): the states of all clients, stacked


@dataclass(frozen=True, eq=False)
class Population:
    """The histories, secrets and consents of all clients: client u holds rows start[u] to start[u + 1]."""

    start: Longs  # (clients + 1,)
    item: Ints  # (rows,)
    value: Floats  # (rows,)
    share: Floats  # (rows,) the coin at each use of the row
    secrets: Words  # (clients, 2)
    per_round: bool = False  # the coin is flipped once per row and round (CONSENT stream), not at each use
    person: Ints | None = None  # (rows,) the owner's place in her group, when clients are groups
    statistics: Bools | None = None  # (clients,) who takes part in sums about people; None: everyone

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return len(self.start) - 1

    def answering(self, asks: str) -> Bools:
        """Which clients take part in a phase that asks for this consent."""
        if asks == "statistics" and self.statistics is not None:
            return self.statistics
        return np.ones(self.clients, np.bool_)

    def history(self, client: int, round: int) -> History:
        """What one client holds, with the consent that counts in this round."""
        rows = slice(self.start[client], self.start[client + 1])
        share = self.share[rows]
        if self.per_round:
            share = self.rng(client, round).stream(Purpose.CONSENT).coins(share).astype(np.float64)
        return History(
            self.item[rows], self.value[rows], share, None if self.person is None else self.person[rows]
        )

    def grouped(self, groups: Ints, secrets: Words) -> Population:
        """The same rows held by groups: `groups` is the group of every client of this one, -1 for none."""
        owner = np.repeat(np.arange(self.clients), np.diff(self.start))
        order = np.argsort(groups[owner], kind="stable")  # by group, then person, then item
        order = order[groups[owner[order]] >= 0]
        start = np.concatenate(([0], np.cumsum(np.bincount(groups[owner[order]], minlength=len(secrets)))))
        return Population(
            start,
            self.item[order],
            self.value[order],
            self.share[order],
            secrets,
            self.per_round,
            places(groups)[owner[order]],
            None if self.statistics is None else _all_agree(groups, self.statistics, len(secrets)),
        )

    def rng(self, client: int, round: int) -> Rng:
        """The randomness of one client in one round."""
        return Rng(self.secrets[client], round)


def _all_agree(groups: Ints, agrees: Bools, n: int) -> Bools:
    """Which groups have no member who refuses."""
    refusing: Longs = np.bincount(groups[(groups >= 0) & ~agrees], minlength=n)
    agreed: Bools = refusing == 0
    return agreed


def places(groups: Ints) -> Ints:
    """The place of everyone in her group, by ascending number."""
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    place = np.empty(len(groups), np.int32)
    place[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place


@dataclass(eq=False)
class Tally:
    """What has left the clients so far; a runtime adds to it."""

    sent: Bytes  # (rows,) 1: this positive has been disclosed at least once
    disclosed: Longs  # (clients,) how many of a client's positives have been
    item_rows: Longs  # (items,) how often a row of this item was sent
    visits: int = 0
    rows_up: int = 0
    bytes_up: int = 0
    rows_down: int = 0
    bytes_down: int = 0

    @staticmethod
    def empty(population: Population, items: int) -> Tally:
        """Nothing has left."""
        rows = np.zeros(len(population.item), np.uint8)
        return Tally(rows, np.zeros(population.clients, np.int64), np.zeros(items, np.int64))

    def count(
        self, public: Public, receives: Disclosure, sends: Disclosure, visits: int, rows: Mapping[str, int]
    ) -> None:
        """Add the traffic of so many visits that sent so many rows of each table, exact to the codec."""
        self.visits += visits
        self.rows_up += sum(rows.values())
        self.bytes_up += visits * sends.message_bytes(dict.fromkeys(rows, 0))
        self.bytes_up += sum(rows[t.name] * t.row_bytes for t in sends.tables)
        self.count_down(public, receives, visits)

    def count_vectors(self, public: Public, receives: Disclosure, visits: int, carrier: Carrier) -> None:
        """Add the traffic of so many visits whose updates went through a channel: all of one length."""
        self.visits += visits
        self.rows_up += visits * carrier.rows
        self.bytes_up += visits * carrier.upload_bytes
        self.count_down(public, receives, visits)

    def count_down(self, public: Public, receives: Disclosure, visits: int) -> None:
        """Add so many downloads of a public model."""
        listed = len(public.listed)
        self.rows_down += visits * max(
            (listed if t.space == "item" else t.rows for t in receives.tables), default=0
        )
        self.bytes_down += visits * receives.model_bytes(listed)


class Spot(NamedTuple):
    """Where and how a table travels in a round."""

    place: Longs  # (rows,) where a row begins in the vector, -1: it does not travel
    clip: float  # L2 bound of the vector
    largest: float  # bound of one number
    step: float  # fixed-point numbers are multiples of this


class Carrier(Protocol):
    """The channel of one phase, as a compiled path needs it; `channel.chain.Chain` is one."""

    @property
    def words(self) -> int:
        """The length of a vector; word 0 counts devices."""

    @property
    def rows(self) -> int:
        """The rows in one message."""

    @property
    def upload_bytes(self) -> int:
        """The bytes that leave a device in one round."""

    def block(self, round: int) -> Ints:
        """The items whose rows travel in a round."""

    def spot(self, table: str, round: int) -> Spot:
        """Where and how a table travels in a round."""

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The server half, of sums that are not yet modulo anything."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some rounds of one phase to be run in one go."""

    phases: tuple[Phase, ...]  # what each round consists of, in order
    first: int  # number of the first round
    rounds: int
    cohort: int  # clients in each round
    server_secret: Words
    workers: int = 1
    carrier: Carrier | None = None  # the channel of the phase; None: updates are added as they are
    channel: ChannelSettings = field(default_factory=ChannelSettings)


class Kernel(Protocol):
    """A compiled twin of an algorithm. It changes `states` and `tally` in place and returns the new server."""

    def covers(self, phase: Phase, cohort: int) -> bool:
        """Whether it can run rounds of this phase with so many clients."""

    def init_clients(self, public: Public, people: Population) -> States:
        """`client_init` of everyone."""

    def run(
        self,
        public: Public,
        server: ServerState,
        states: States,
        people: Population,
        tally: Tally,
        stretch: Stretch,
    ) -> ServerState:
        """The rounds of a stretch."""

    def ready_clients(self, call: Call, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone, in new arrays."""

    def score(self, model: Arrays, states: States, users: Ints) -> NDArray[Any]:
        """`client_score` of a block of clients: (users, items)."""


@runtime_checkable
class CarryingKernel(Protocol):
    """A kernel that also knows the stages of a channel: block, clips, fixed point, ring."""

    def carries(self, phase: Phase) -> bool:
        """Whether it can hand the updates of this phase through a channel."""
