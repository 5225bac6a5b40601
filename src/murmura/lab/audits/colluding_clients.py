"""The shape of a poisoning attack: colluding clients, what they know, and the update each sends in a round.

Liars know what everybody knows (method, settings, public model of every round, counts where they are public),
each other's histories, and the item they want to move. What they make goes through the real channel, into the
same sum: it is clipped and rounded like every update, unless an attack uses up what the check of the sum leaves
(`Lie.beyond`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.channel.chain import Chain, ChainOfSum
from murmura.channel.proven_chain import ProvenChain
from murmura.channel.rounded_chain import RoundedChain
from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.contract import Algorithm, History, Phase, RoundContext, Total
from murmura.core.errors import SettingError
from murmura.core.message import TableSpec
from murmura.core.population import Population
from murmura.core.rng import Purpose, Rng, Stream
from murmura.core.update import SparseRows, Update, add_up
from murmura.engine.plan import RoundPlan
from murmura.lab.audits.attack import Attack


@dataclass(frozen=True, eq=False)
class Lie:
    """What each liar of a round sends: clipped and rounded like every update, or as long as the sum may be."""

    update: Update
    beyond: float | None = None  # without the clip: a share of what the sum may be long


@dataclass(frozen=True, eq=False)
class MaliciousSum(ChainOfSum):
    """The channel of one exchange, whose sums have the liars' vectors in them before the server half."""

    malicious_vectors: Longs  # (words,) not yet modulo anything

    def sum_up(self, sums: Longs, round: int) -> Total:
        """The server half of everybody's sum, with every check of it."""
        return self.chain.sum_up(sums + self.malicious_vectors, round)


def vector_of(lie: Lie, chain: Chain, rng: Rng, count: int) -> Longs:
    """The whole numbers that one liar of a sum of `count` devices sends."""
    if isinstance(chain, ProvenChain) and chain.circuit is not None:
        return _proved(lie, chain)
    if lie.beyond is None or not isinstance(chain, RoundedChain):
        return chain.ring.server(chain.device(lie.update, rng, rng.round))
    exact, sent = chain.layout.device(lie.update, rng.round).parted(chain.exact)
    length = float(np.sqrt((sent.value**2).sum()))
    vector = np.zeros(chain.words)
    vector[sent.place] = sent.value * (lie.beyond * chain.longest(count) / max(length, 1e-300))
    steps, most = chain.steps, lie.beyond * count * chain.limits
    whole: Longs = np.rint(np.clip(vector / steps, -most, most)).astype(np.int64)
    whole[exact.place] = exact.value.astype(np.int64) * int(lie.beyond * count)  # as if so many had said it
    whole[0] = 1
    return whole


def _proved(lie: Lie, chain: ProvenChain) -> Longs:
    """What is added of a lie that must be proved: nothing of one that no proof passes for."""
    vector = np.zeros(chain.words, np.int64)
    if lie.beyond is None:
        vector[0] = 1
        vector[1:] = chain.proven.released(chain.vector(lie.update)).astype(np.int64)
    return vector


OWN = Purpose.OWN + 7  # the stream of what liars draw
TAUGHT = 8  # histories of their own from which liars work out a direction, in every round others
REMEMBERED = 0.8  # of the direction of the round before: histories of many rounds say more than those of one
RIVALS = 50  # items that an adapted attack moves beside its target

Kind = Literal["cold", "popular"]


@dataclass(frozen=True, eq=False)
class PoisoningAttack(Attack):
    """What liars send in an exchange, and about which item; no lie: what they would send anyway."""

    lie: Callable[[MaliciousView], Lie | None]
    _: KW_ONLY
    target: Kind | None = None  # of which kind the item is that it moves; None: it has no target
    alone: Literal["never", "counting", "always"] = "never"  # when one device lies for all


@dataclass(frozen=True, eq=False)
class Conspiracy:
    """Clients of one training who work together against it."""

    attack: PoisoningAttack
    algorithm: Algorithm
    people: Population
    malicious: Bools  # (clients,)
    target: int
    seed: int = 0
    memory: dict[str, NDArray[Any]] = field(default_factory=dict)  # what they noted in earlier rounds

    def among(self, phase: Phase, clients: Ints) -> Bools:
        """Those who lie in this exchange; of an attack by one device the first of them, or of the cohort."""
        lying: Bools = self.malicious[clients]
        alone = self.attack.alone == "always" or (self.attack.alone == "counting" and counts_clients(phase))
        if alone and len(clients):
            first = int(np.argmax(lying))  # where none of them was called: whoever is the first
            lying = np.arange(len(clients)) == first
        return lying

    def check(self, plan: RoundPlan) -> None:
        """Refuse a training in which nothing bounds them."""
        if not plan.chains:
            raise SettingError(
                "lies need a channel whose bounds they keep to, but there is none; set channel=secure-sum."
            )

    def called(
        self, plan: RoundPlan, phase: Phase, context: RoundContext, clients: Ints
    ) -> tuple[Ints, MaliciousSum | None]:
        """Who of the clients called lies in this exchange, and the channel their lies are in; None: nobody."""
        chain, lying = plan.chains.get(phase.name), clients[self.among(phase, clients)]
        if chain is None or not len(lying) or len(lying) == len(clients):
            return clients[:0], None
        lie = self.attack.lie(MaliciousView(self, phase, context))
        if lie is None:
            return clients[:0], None
        total = np.zeros(chain.words, np.int64)
        for client in lying.tolist():
            total += vector_of(lie, chain, plan.people.rng(client, context.round), len(clients))
        return lying, MaliciousSum(chain, total)

    def history(self, client: int) -> History:
        """What a liar holds; of which she would share everything."""
        held = self.people.history(client, 0)
        return replace(held, consent=np.ones(len(held)))


@dataclass(frozen=True, eq=False)
class MaliciousView:
    """One exchange, as liars see it."""

    plot: Conspiracy
    phase: Phase
    context: RoundContext

    @property
    def counts_clients(self) -> bool:
        """Whether the exchange is one of counts: a number says that somebody has something."""
        return counts_clients(self.phase)

    @property
    def before_training(self) -> bool:
        """Whether it is such an exchange of a method that learns from others."""
        phases = self.plot.algorithm.phases(self.context.info)
        return self.counts_clients and not all(map(counts_clients, phases))

    @property
    def stream(self) -> Stream:
        """What liars draw in this round."""
        return Rng(np.array([self.plot.seed, 77], np.uint32), self.context.round).stream(OWN)

    @property
    def popularity(self) -> Longs:
        """How often each item occurs: publicly known, or as liars see it among themselves."""
        if self.context.info.counts is not None:
            return self.context.info.counts
        seen = np.zeros(self.context.info.items, np.int64)
        malicious = np.flatnonzero(self.plot.malicious)
        for client in malicious.tolist():
            seen[self.plot.history(client).item] += 1
        return seen * self.context.info.clients // max(1, len(malicious))

    def popular(self, n: int) -> Ints:
        """The n most popular items on offer beside the target."""
        listed = self.context.info.listed
        others = listed[listed != self.plot.target]
        best: Ints = others[np.argsort(-self.popularity[others], kind="stable")[:n]]
        return best

    def known(self) -> Iterator[History]:
        """Some of the histories of liars, in every round others."""
        malicious = np.flatnonzero(self.plot.malicious)
        take = self.stream.choose(len(malicious), min(TAUGHT, len(malicious)))
        return (self.plot.history(int(client)) for client in malicious[take])

    def as_if(self, items: Ints) -> Update:
        """The update of somebody who has exactly these items: a false history, sent by an honest device."""
        best = float(self.plot.people.value.max(initial=1.0))
        when = None if self.plot.people.time is None else np.arange(len(items))
        return self._step(replace(History.private(items, best, time=when), consent=np.ones(len(items))))

    def honest(self) -> Update:
        """What some of the liars would send together if they were honest."""
        return add_up([self._step(one) for one in self.known()])

    def lifting(self) -> NDArray[Any]:
        """The direction in which the row of the target must move to score higher for everybody, of length 1.

        Worked out by the algorithm's own step: liars add the target to true histories and look what it would
        send of it, at a model in which it has no row yet, so that the step does not find it high enough.
        """
        t, memory, name = self.plot.target, self.plot.memory, self.phase.name
        total = REMEMBERED * memory.get(name, np.zeros(self.table.width))
        blank = replace(self.context, model=self._without_target())
        for one in self.known():
            mine = np.append(one.item, np.int32(t)) if t not in one.item else one.item
            time = None if one.time is None else np.append(one.time, one.time.max(initial=0))[: len(mine)]
            added = replace(History.private(mine, 1.0, time=time), consent=np.ones(len(mine)))
            total += self.rows_of(self._step(added, blank), np.array([t], np.int32)).sum(axis=0)
        memory[name] = total
        length = float(np.sqrt((total**2).sum()))
        return total / max(length, 1e-300)

    def place(self, items: Ints) -> Ints:
        """The rows of these items (of their features, where rows are of features) in the table that is sent."""
        table, info = self.table, self.context.info
        if table.space == "feature":
            assert info.features is not None
            return info.features.of_items(items)
        return items if table.space == "item" else np.searchsorted(info.listed, items).astype(np.int32)

    def rows_of(self, update: Update, items: Ints) -> Floats:
        """What an update says of these items, (rows, width); of those it does not mention zeros."""
        rows: Floats = update.tables[self.table.name].dense(self.table.rows)[self.place(items)]
        return rows

    def moving(self, items: Ints, rows: Floats) -> Update:
        """An update with these rows of items and nothing else."""
        return self.with_rows(self.place(items), rows)

    def with_rows(self, place: Ints, rows: Floats) -> Update:
        """An update with these rows of the first table and nothing else."""
        order = np.argsort(place, kind="stable")
        sent = SparseRows(place[order].astype(np.int32), rows[order].astype(self.table.dtype))
        if self.table.space == "dense":
            whole = sent.dense(self.table.rows, self.table.dtype)
            sent = SparseRows(np.arange(len(whole), dtype=np.int32), whole)
        others = {t.name: SparseRows.empty(t.width, t.dtype) for t in self.phase.sends.tables[1:]}
        return Update({self.table.name: sent, **others}, dict.fromkeys(self.phase.sends.scalars, 0.0))

    @property
    def table(self) -> TableSpec:
        """The first table of the exchange: rows of items or of their features."""
        return self.phase.sends.tables[0]

    def _without_target(self) -> dict[str, NDArray[Any]]:
        model = {name: array.copy() for name, array in self.context.model.items()}
        for table in self.plot.algorithm.publishes(self.context.info).tables:
            if table.space == "item" and table.name in model:
                model[table.name][self.plot.target] = 0
        return model

    def _step(self, history: History, context: RoundContext | None = None) -> Update:
        """What the algorithm lets somebody send who has this history and is new."""
        at, algorithm = context or self.context, self.plot.algorithm
        rng = Rng(self.stream.words(2), at.round)
        if self.counts_clients:
            state = algorithm.client_init(at.info, history, rng)
            for before in algorithm.phases(at.info):  # a device remembers as what it was counted
                if before.name == self.phase.name:
                    break
                state, _ = algorithm.client_step(replace(at, phase=before.name), state, history, rng)
        else:
            state = algorithm.client_fold_in(at, history, rng)
        return algorithm.client_step(at, state, history, rng)[1]


def counts_clients(phase: Phase) -> bool:
    """Whether every number of an exchange is held to a bound of its own, as counts are."""
    bounded = all(table.exact is not None or table.bound is not None for table in phase.sends.tables)
    return bounded or phase.claim is not None


def scaled(update: Update, by: float) -> Update:
    """An update times a number."""
    tables = {name: SparseRows(rows.index, rows.values * by) for name, rows in update.tables.items()}
    return Update(tables, {name: value * by for name, value in update.scalars.items()})
