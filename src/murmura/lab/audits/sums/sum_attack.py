"""Attacks on released sums: what an adversary sees who reads no single update, and what each attack says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs, Singles
from murmura.core.contract import Algorithm, ClientState, FederationInfo, Phase, RoundContext
from murmura.core.errors import DataError, MurmuraError
from murmura.core.kernel import CohortRound, Kernel
from murmura.core.population import ObservedSum, Population, States, Tally
from murmura.core.rng import Purpose, Stream, Words
from murmura.core.update import Update
from murmura.lab.audits.attack import AdversaryKnowledge, Attack, ItemClaims


@dataclass(frozen=True, eq=False)
class RowSpace:
    """The table of a phase whose rows tell of items."""

    table: str
    rows: int
    width: int
    start: Longs  # (items + 1,)
    row: Ints  # item i is told of by rows row[start[i] : start[i + 1]]

    @staticmethod
    def of(phase: Phase, info: FederationInfo) -> RowSpace | None:
        """Of the first table that has such rows; None: the phase has no such table."""
        for table in phase.sends.tables:
            if table.space == "item":
                each, rows = np.ones(info.items, np.int64), np.arange(info.items, dtype=np.int32)
            elif table.space == "feature" and info.features is not None:
                each, rows = np.diff(info.features.start), info.features.feature
            elif table.space == "dense" and table.rows == len(info.listed) and table.width > 1:
                each, rows = np.zeros(info.items, np.int64), np.arange(len(info.listed), dtype=np.int32)
                each[info.listed] = 1
            else:
                continue
            start = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
            return RowSpace(table.name, table.rows, table.width, start, rows)
        return None

    def dense(self, update: Update) -> Singles:
        """The table with a row for everything: (rows, width)."""
        return update.tables[self.table].dense(self.rows, np.float32)

    def of_items(self, items: Ints) -> Ints:
        """The rows that tell of any of these items, ascending."""
        parts = [self.row[self.start[item] : self.start[item + 1]] for item in items.tolist()]
        return np.unique(np.concatenate(parts)).astype(np.int32) if parts else np.empty(0, np.int32)

    def item_scores(self, scores: Floats) -> Floats:
        """The mean of its rows' scores for every item, 0 where it has none: (..., rows) to (..., items)."""
        n = np.diff(self.start)
        whole = np.zeros((*scores.shape[:-1], len(n)))
        there = n > 0
        if there.any():
            sums = np.add.reduceat(scores[..., self.row], self.start[:-1][there], axis=-1)
            whole[..., there] = sums / n[there]
        return whole


@dataclass(frozen=True, eq=False)
class ObservedSums:
    """Every sum the server received, in their order."""

    sums: tuple[ObservedSum, ...]

    @cached_property
    def training(self) -> tuple[ObservedSum, ...]:
        """The sums of the first phase of a training round whose rows tell of items."""
        there = [one for one in self.sums if one.phase.repeat is None and RowSpace.of(one.phase, one.info)]
        return tuple(one for one in there if one.phase.name == there[0].phase.name)

    @cached_property
    def space(self) -> RowSpace:
        """What the rows of those sums tell of."""
        if not self.training:
            raise DataError("an attack on rounds needs sums of rows of items, but this training has none.")
        found = RowSpace.of(self.training[0].phase, self.training[0].info)
        assert found is not None
        return found

    @cached_property
    def tables(self) -> Singles:
        """(rounds, rows, width)."""
        return np.stack([self.space.dense(one.total.update) for one in self.training])

    def presence(self, clients: Ints) -> Bools:
        """(clients, rounds) who was in which cohort."""
        return np.stack([np.isin(clients, one.clients) for one in self.training], axis=1)


def sums_in_rounds(algorithm: Algorithm) -> bool:
    """Whether an algorithm adds rows of items, or of their features, up over cohorts."""
    return any(phase.repeat is None and phase.combine == "sum" for phase in tiny_phases(algorithm))


def tiny_phases(algorithm: Algorithm) -> tuple[Phase, ...]:
    """What an algorithm would exchange about two items; nothing where it learns from no items."""
    if algorithm.holds != "history":
        return ()
    two = np.arange(2, dtype=np.int32)
    tiny = FederationInfo(2, two, 2, 4, counts=np.full(2, 2), feature_count=2)
    try:
        return algorithm.phases(tiny)
    except MurmuraError:
        return ()


class ShadowClients:
    """People with these histories, all rows shared; compiled where the algorithm has a kernel.

    An adversary's shadows of people: they answer the public model of a round as those would, with other dice.

    Everybody knows the algorithm and the public model, so who knows a history can play its owner. A shadow
    client takes part in every round it is asked about and keeps its state in between; its secret is the
    adversary's own.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        info: FederationInfo,
        histories: Sequence[Ints],
        secrets: Words,
        value: float = 1.0,
    ) -> None:
        self._algorithm = algorithm
        sizes = [len(one) for one in histories]
        item = np.concatenate([np.empty(0, np.int32), *histories]).astype(np.int32)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        values, shared = np.full(len(item), value), np.ones(len(item))
        when = np.zeros(len(item), np.int64)  # nobody knows it; what leaves does not depend on it
        self.people = Population(start, item, values, shared, secrets, time=when)
        self._kernel: Kernel | None = algorithm.kernel()
        self._tally = Tally.empty(self.people, info.items)
        self._stacked: States = {} if self._kernel is None else self._kernel.init_clients(info, self.people)
        self._states: dict[int, ClientState] = {}

    def visit(self, shadow: int, asked: ObservedSum) -> Update:
        """What one shadow sends in a round; what it learns there it keeps."""
        kernel, people = self._kernel, self.people
        if kernel is not None and kernel.covers(asked.phase, channel=False):
            one = np.array([shadow], np.int32)
            cohort = CohortRound(asked.info, asked.phase, asked.round, asked.model, people, one)
            return kernel.cohort_sum(cohort, self._stacked, self._tally)[0].update
        context = RoundContext(asked.info, asked.phase.name, asked.round, asked.model)
        history, rng = people.history(shadow, asked.round), people.rng(shadow, asked.round)
        if shadow not in self._states:
            first = people.history(shadow, 0), people.rng(shadow, 0)
            self._states[shadow] = self._algorithm.client_init(asked.info, *first)
        self._states[shadow], update = self._algorithm.client_step(context, self._states[shadow], history, rng)
        return update


VICTIMS = 300  # of attacks that play their victims, which takes time
SUMS = Purpose.OWN + 7  # the stream of victims, known halves and shadows
Tells = Literal["nothing", "half", "whole", "rarest"]  # what is known of a victim
STRANGERS = 64  # made-up people from whom an adversary learns what an own item's row looks like


@dataclass(frozen=True, eq=False)
class SumKnowledge:
    """What the adversary knows beside the sums: what is public, and a part of its victims' histories."""

    public: AdversaryKnowledge
    algorithm: Algorithm
    victims: Ints  # (victims,) clients, ascending
    known_items: Mapping[int, Ints]  # victim -> those of her items that are known, ascending; without: none
    value: float = 1.0  # what shadows say of their items

    def shadows(self, stream: Stream, times: int = 1) -> ShadowClients:
        """So many shadows of every victim, as far as she is known: those of one stand together."""
        nothing = np.empty(0, np.int32)
        histories = [self.known_items.get(one, nothing) for one in self.victims.tolist() for _ in range(times)]
        return self._shadow_clients(histories, stream)

    def strangers(self, stream: Stream, n: int = STRANGERS) -> ShadowClients:
        """Made-up people of usual size, their items drawn by popularity (Efraimidis and Spirakis, 2006)."""
        popularity, listed = self.public.popularity, self.public.info.listed
        size = min(self.public.average_items("client"), len(listed) - 1)
        draws = (stream.words(n * len(listed)).reshape(n, -1) + 0.5) / 2.0**32
        keys = np.log(draws) / np.maximum(popularity[listed], 1e-9)
        best = np.argpartition(-keys, size - 1, axis=1)[:, :size]
        return self._shadow_clients([np.sort(listed[one]) for one in best], stream)

    def _shadow_clients(self, histories: list[Ints], stream: Stream) -> ShadowClients:
        secrets = stream.words(2 * len(histories)).reshape(-1, 2)
        return ShadowClients(
            self.algorithm, self.public.info, histories, np.ascontiguousarray(secrets), self.value
        )

    def asked(self) -> Bools:
        """(clients, items) what can be claimed: of every victim the items that are not known already."""
        asked = np.zeros((self.public.info.clients, self.public.info.items), np.bool_)
        asked[self.victims] = True
        for victim, items in self.known_items.items():
            asked[victim, items] = False
        return asked


@dataclass(frozen=True, eq=False)
class SumAttack(Attack):
    """An attack that reads sums, of rows of items over rounds unless it is said otherwise."""

    reads: ClassVar[Literal["updates", "sums"]] = "sums"
    _: KW_ONLY
    suits: Callable[[Algorithm], bool] = sums_in_rounds
    tells: Tells = "nothing"


@dataclass(frozen=True, eq=False)
class SumItemAttack(SumAttack):
    """Which items somebody has: what the sums give away."""

    claims: Callable[[ObservedSums, SumKnowledge, Stream], ItemClaims]


@dataclass(frozen=True, eq=False)
class TracingAttack(SumAttack):
    """In which rounds somebody was whose history is known: (victims, rounds) higher: rather in it."""

    traces: Callable[[ObservedSums, SumKnowledge, Stream], Floats]
    _: KW_ONLY
    tells: Tells = "whole"
