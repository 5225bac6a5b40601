"""The clients of a simulation in flat arrays, what has left them, and who observes their sums.

A `Population` has no Python object for each client, a `Tally` counts uploads and downloads, and observers see
every released sum, for audits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Bytes, Floats, Ints, Longs
from murmura.core.contract import ClientState, FederationInfo, History, Phase, Samples, Total
from murmura.core.errors import FederationError
from murmura.core.interactions import Attributes, SampleTable
from murmura.core.message import MessageSpec
from murmura.core.rng import Purpose, Rng, Words
from murmura.core.update import Arrays

States = dict[str, NDArray[Any]]  # name -> (clients, ...): the states of all clients, stacked


@dataclass(frozen=True, eq=False)
class Population:
    """The histories, secrets and consents of all clients: client u holds rows start[u] to start[u + 1]."""

    start: Longs  # (clients + 1,)
    item: Ints  # (rows,)
    value: Floats  # (rows,)
    consent: Floats  # (rows,) the coin at each use of the row
    secrets: Words  # (clients, 2)
    per_round: bool = False  # the coin is flipped once per row and round (CONSENT stream), not at each use
    person: Ints | None = None  # (rows,) the owner's place in her group, when clients are groups
    statistics: Bools | None = None  # (clients,) who takes part in sums about people; None: everyone
    samples: SampleTable | None = None  # what the items show, where clients hold samples
    attributes: Attributes = field(default_factory=dict)  # name -> (clients,): what clients say of themselves
    time: Longs | None = None  # (rows,) seconds since 1970; None: unknown

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
        consent = self.consent[rows]
        if self.per_round:
            consent = round_consent(consent, self.rng(client, round))
        item, person = self.item[rows], None if self.person is None else self.person[rows]
        said = {name: float(column[client]) for name, column in self.attributes.items()}
        time = None if self.time is None else self.time[rows]
        if self.samples is None:
            return History(item, self.value[rows], consent, person, said, time=time)
        shown, quality = self.samples.inputs(item), self.samples.qualities(item)
        return Samples(item, self.value[rows], consent, person, said, shown, quality, time=time)

    def grouped(self, groups: Ints, secrets: Words) -> Population:
        """The same rows held by groups: `groups` is the group of every client of this one, -1 for none."""
        owner = np.repeat(np.arange(self.clients), np.diff(self.start))
        order = np.argsort(groups[owner], kind="stable")  # by group, then person, then item
        order = order[groups[owner[order]] >= 0]
        start = np.concatenate(([0], np.cumsum(np.bincount(groups[owner[order]], minlength=len(secrets)))))
        statistics: Bools | None = None
        if self.statistics is not None:  # a group takes part where no member of it refuses
            refusing = groups[(groups >= 0) & ~self.statistics]
            statistics = np.bincount(refusing, minlength=len(secrets)) == 0
        columns = ("item", "value", "consent", "time")
        moved: dict[str, Any] = {
            name: column[order] for name in columns if (column := getattr(self, name)) is not None
        }
        said = {name: group_means(groups, column, len(secrets)) for name, column in self.attributes.items()}
        moved |= {"person": member_places(groups)[owner[order]], "statistics": statistics, "attributes": said}
        return replace(self, start=start, secrets=secrets, **moved)

    def rng(self, client: int, round: int) -> Rng:
        """The randomness of one client in one round."""
        return Rng(self.secrets[client], round)


def group_means(groups: Ints, column: Floats, n: int) -> Floats:
    """What the members of each group say of themselves, on average."""
    inside = groups >= 0
    sizes = np.maximum(np.bincount(groups[inside], minlength=n), 1)
    means: Floats = np.bincount(groups[inside], column[inside], minlength=n) / sizes
    return means


def member_places(groups: Ints) -> Ints:
    """The place of everyone in her group, by ascending number."""
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    place = np.empty(len(groups), np.int32)
    place[order] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place


def round_consent(consent: Floats, rng: Rng) -> Floats:
    """The consent of the rows of one client in one round, where a coin is flipped once per row and round."""
    return rng.stream(Purpose.CONSENT).coins(consent).astype(np.float64)


def stacked(states: list[ClientState]) -> States:
    """The states of all clients, one array per name; refuses states of different shapes."""
    shapes = {tuple((name, np.shape(value)) for name, value in sorted(state.items())) for state in states}
    if len(shapes) > 1:
        raise FederationError(
            f"all clients must keep states of one shape, but there are {len(shapes)} shapes; pad them."
        )
    return {name: np.stack([state[name] for state in states]) for name in (states[0] if states else {})}


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

    def count_updates(self, sends: MessageSpec, visits: int, rows: Mapping[str, int]) -> None:
        """Add what so many visits sent that had so many rows of each table, exact to the codec."""
        self.visits += visits
        self.rows_up += sum(rows.values())
        self.bytes_up += visits * sends.message_bytes(dict.fromkeys(rows, 0))
        self.bytes_up += sum(rows[t.name] * t.row_bytes for t in sends.tables)

    def count_vectors(self, visits: int, rows: int, upload_bytes: int) -> None:
        """Add what so many visits sent through a channel: messages of so many rows and bytes each."""
        self.visits += visits
        self.rows_up += visits * rows
        self.bytes_up += visits * upload_bytes

    def count_down(self, rows: int, length: int) -> None:
        """Add what was downloaded: so many rows, so many bytes."""
        self.rows_down += rows
        self.bytes_down += length


@dataclass(frozen=True, eq=False)
class ObservedSum:
    """What the server received in one exchange, after all its channel did, and who was in it (worst case)."""

    phase: Phase
    round: int
    clients: Ints  # (cohort,) ascending
    info: FederationInfo  # what everybody knew
    model: Arrays  # the public model before the server's step
    total: Total


SumObserver = Callable[[ObservedSum], None]  # a simulation can be asked to show every sum to one
