"""Ranges of clients that somebody else holds: what the server asks of one, and what it answers.

A range is a shard of a simulation or the silo of an organisation. Whoever holds it has a `Federation` of its
own clients, numbered from 0; the server has one without clients. An exchange is one request for every range,
the sum of the replies, and the server's step. Sums of a channel are whole numbers, which any cut into ranges
adds up to the bits of one process; floating-point ones are added by the server in the order of the clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from murmura.channel.chain import ChainOfSum
from murmura.core.arrays import Ints, Longs
from murmura.core.channel import ChannelSettings
from murmura.core.codec import RowVersions
from murmura.core.consent import Consent
from murmura.core.contract import (
    Algorithm,
    FederationInfo,
    IndividualUpdates,
    Phase,
    Received,
    ServerState,
    Total,
)
from murmura.core.errors import FederationError
from murmura.core.population import Population
from murmura.core.schedule import Schedule
from murmura.core.update import Arrays, RunningSum, Update
from murmura.engine.federation import Federation, ModelDownloads, Runtime, server_step
from murmura.engine.itinerary import Position
from murmura.engine.plan import RoundPlan
from murmura.runtimes.inprocess import InProcess, PhaseVisits

FINISHED = ""  # the phase of a request that asks for nothing: here is the model
EMPTY = Population(
    np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0), np.zeros((0, 2), np.uint32)
)


@dataclass(frozen=True, eq=False)
class RangePlan(RoundPlan):
    """What the server and whoever holds a range know; `people` are the clients that are here."""

    algorithm: Algorithm
    info: FederationInfo
    schedule: Schedule = field(default_factory=Schedule)
    consent: Consent = field(default_factory=Consent)
    seed: int = 0  # a silo draws nothing with it
    channel: ChannelSettings = field(default_factory=ChannelSettings)
    runtime: InProcess = field(default_factory=InProcess)  # how the clients of one range are visited
    people: Population = EMPTY
    identity: Mapping[str, Any] = field(default_factory=dict)  # what makes two trainings the same one

    def with_counts(self, counts: Longs) -> RangePlan:
        """The same with public counts of the items."""
        return replace(self, info=replace(self.info, counts=counts))

    def config(self) -> dict[str, Any]:
        """What makes two trainings the same one, as plain values."""
        return {**self.identity, "seed": self.seed}

    def of(self, people: Population) -> RangePlan:
        """The same with the clients of a range; what follows from the settings is not worked out again."""
        _ = self.chains, self.server_secret
        mine = replace(self, people=people)
        known = ("itinerary", "chains", "noise", "server_secret")
        vars(mine).update({name: vars(self)[name] for name in known if name in vars(self)})
        return mine


@dataclass(frozen=True, eq=False)
class Request:
    """One exchange, as the server asks for it."""

    at: Position
    phase: str
    model: Arrays
    cohort: Ints | None  # who is called, ascending; None: everyone
    answers: Mapping[int, Arrays] = field(default_factory=dict)  # what single clients are told
    versions: RowVersions | None = None  # of the models so far, where the server counts what clients download


@dataclass(frozen=True, eq=False)
class PartialSum:
    """What the clients of some ranges sent in one exchange."""

    count: int  # whose updates are in it
    sums: Longs | None = None  # (words,) of a channel, not yet modulo anything
    updates: Mapping[int, Update] = field(default_factory=dict)  # else by client, or the first of a block
    refused: Mapping[int, str] = field(default_factory=dict)  # whose update was left out, and why


def receive(f: Federation, request: Request) -> None:
    """The range knows the model of a request, and what its clients are told."""
    if request.versions is None:
        f.step(ServerState(request.model), request.answers)
        return
    f.server, f.answers = ServerState(request.model), request.answers
    f.plan = f.plan.after(request.model)
    if f.held is not None:
        f.held = ModelDownloads(request.versions, f.held.fetched)


def answer(f: Federation, runtime: InProcess, request: Request, clients: Ints) -> PartialSum:
    """What these clients of the range send: a sum through the channel, or a sum of a block, or each update."""
    phase = f.plan.itinerary.phase(request.at)
    exchange = PhaseVisits(f, phase, request.at.round, clients)
    chain = exchange.chain
    if not len(clients):
        f.remember_counted(phase, ())
        return PartialSum(0, None if chain is None else np.zeros(chain.words, np.int64))
    if chain is not None:
        kept = RawSums(chain)
        runtime.collect(replace(exchange, through=kept))
        return PartialSum(len(clients), kept.sums)
    if f.kernel is not None and f.kernel.covers(phase, channel=False):
        received = runtime.collect(exchange)
        assert isinstance(received, Total)
        return PartialSum(received.count, updates={int(clients[0]): received.update})
    sent: dict[int, Update] = {}
    f.record = lambda one: sent.update({one.client: one.update})
    runtime.collect(exchange)
    refused = {client: why for client, why in f.refused.items() if client in clients}
    taken = {client: update for client, update in sent.items() if client not in refused}
    return PartialSum(len(taken), updates=taken, refused=refused)


def add(*partials: PartialSum) -> PartialSum:
    """The sum of sums; updates are put side by side."""
    sums = [one.sums for one in partials if one.sums is not None]
    updates = {client: update for one in partials for client, update in one.updates.items()}
    refused = {client: why for one in partials for client, why in one.refused.items()}
    return PartialSum(
        sum(one.count for one in partials), np.sum(sums, axis=0) if sums else None, updates, refused
    )


class RangeRuntime(Runtime):
    """The server's side of every exchange with ranges that somebody else holds."""

    def ask(self, f: Federation, at: Position, called: Ints | None) -> PartialSum:
        """What all ranges send in an exchange, of those called; None: everyone."""
        raise NotImplementedError

    def tell(self, f: Federation, at: Position, called: Ints | None) -> None:
        """Let those called fetch the outcome of an exchange that no later round brings them."""

    def exchange(self, f: Federation, at: Position, called: Ints | None) -> None:
        """Ask all ranges, add up what they send, and take the server's step."""
        phase, sent = f.plan.itinerary.phase(at), self.ask(f, at, called)
        f.refused |= sent.refused
        received = _received(f, phase, at.round, sent)
        f.step(*server_step(f.plan.algorithm, phase.name, at.round, f.server, received))
        if phase.returns:
            self.tell(f, at, called)


def _received(f: Federation, phase: Phase, round: int, sent: PartialSum) -> Received:
    chain, updates = f.plan.chains.get(phase.name), dict(sorted(sent.updates.items()))
    if phase.combine == "each":
        return IndividualUpdates(updates)
    if chain is not None:
        assert sent.sums is not None
        total = chain.sum_up(sent.sums, round)
    else:
        added = RunningSum()
        for update in updates.values():
            added.add(update)
        total = Total(added.update(), sent.count)
        phase.sends.check_sum(total.update, total.count)
    if total.count != sent.count:
        raise FederationError(
            f"the sums of all ranges must count the people they say, but count {total.count}; one is not of "
            "this round."
        )
    return total


@dataclass(frozen=True, eq=False)
class RawSums(ChainOfSum):
    """The channel of one exchange as a range has it: sums are kept as they are, for the server half."""

    kept: list[Longs] = field(default_factory=list)

    @property
    def sums(self) -> Longs:
        """What was kept."""
        return self.kept[-1]

    def sum_up(self, sums: Longs, round: int) -> Total:
        """Keep the sums; the server adds those of all ranges before its half."""
        self.kept.append(sums)
        return Total(Update(), int(sums[0]))
