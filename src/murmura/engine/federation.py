"""A federation while it trains: the server, the clients' states and what has left; runtimes move it on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from murmura.channel.ledger import read_bytes
from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.codec import RowVersions
from murmura.core.contract import (
    Algorithm,
    Answers,
    ClientState,
    IndividualUpdates,
    Phase,
    RoundContext,
    ServerState,
    Total,
)
from murmura.core.errors import DivergenceError, FederationError
from murmura.core.kernel import CompiledChannel, Kernel
from murmura.core.message import COUNT_BYTES, HEADER_BYTES, MessageSpec, released_counts_bytes
from murmura.core.population import ObservedSum, States, SumObserver, Tally, stacked
from murmura.core.rng import Rng
from murmura.core.update import Arrays, UpdateObserver
from murmura.engine.itinerary import Position
from murmura.engine.plan import Plan, RoundPlan

NONE = -1  # the number of no model


@dataclass(eq=False)
class ModelDownloads:
    """What devices of a real federation do: they keep the model they have and fetch the rows that changed."""

    versions: RowVersions
    fetched: Longs  # (clients,) the number of the model each client has

    @staticmethod
    def begin(downloads: MessageSpec, listed: Ints, clients: int) -> ModelDownloads:
        """Nobody has a model."""
        return ModelDownloads(RowVersions.first(downloads, listed), np.full(clients, NONE, np.int64))

    def fetch(self, clients: Ints) -> tuple[int, int]:
        """Rows and bytes of bringing these clients to the newest model, which they have from then on."""
        moved = self.missing(clients)
        self.fetched[clients] = self.versions.number
        return moved

    def missing(self, clients: Ints) -> tuple[int, int]:
        """The same, of clients who do not fetch it yet."""
        bases, counts = np.unique(self.fetched[clients], return_counts=True)
        each = np.array([self.versions.missing(base) for base in bases.tolist()], np.int64).reshape(-1, 2)
        rows, length = counts @ each
        return int(rows), int(length)

    def moved(self, before: Arrays, after: Arrays, downloads: MessageSpec) -> None:
        """The next model is there; one of another declaration has no row of the one before."""
        if downloads.mark != self.versions.downloads.mark:
            self.versions = RowVersions.first(downloads, self.versions.listed, self.versions.number + 1)
        else:
            self.versions = self.versions.moved(before, after)


class MaliciousClients(Protocol):
    """Malicious clients of a simulation (`lab.audits`), who send what they like."""

    def check(self, plan: RoundPlan) -> None:
        """Refuse a training in which nothing bounds them."""

    def called(
        self, plan: RoundPlan, phase: Phase, context: RoundContext, clients: Ints
    ) -> tuple[Ints, CompiledChannel | None]:
        """Who of the clients called lies in this exchange, and the channel their lies are in; None: nobody."""


@dataclass(eq=False)
class Federation:
    """Everything a training changes; `plan` is what it does not change."""

    plan: RoundPlan
    server: ServerState
    states: States  # name -> (clients, ...)
    tally: Tally
    kernel: Kernel | None = None  # the compiled path taken, where there is one
    rounds: int = 0  # rounds done, the exchanges before training included
    answers: Answers = field(default_factory=dict)  # what the last "each" phase told single clients
    refused: dict[int, str] = field(default_factory=dict)  # whose update an "each" phase left out, and why
    counted: dict[str, Bools] = field(default_factory=dict)  # (clients,) by phase that another one follows
    record: UpdateObserver | None = None  # is shown every update that leaves a client, for audits
    record_sums: SumObserver | None = None  # is shown every sum the server receives, for audits
    liars: MaliciousClients | None = None  # clients who send what they like, for audits
    held: ModelDownloads | None = None  # the models clients have, where updates go through a channel
    _published: tuple[ServerState, Arrays] | None = None

    @staticmethod
    def begin(plan: RoundPlan, kernel: Kernel | None = None) -> Federation:
        """Before the first round."""
        server, people = plan.algorithm.server_init(plan.info, Rng(plan.server_secret)), plan.people
        if kernel is not None:
            states = kernel.init_clients(plan.info, people)
        else:
            init, every = plan.algorithm.client_init, range(people.clients)
            states = stacked([init(plan.info, people.history(one, 0), people.rng(one, 0)) for one in every])
        f = Federation(plan, server, states, Tally.empty(people, plan.info.items), kernel)
        if plan.channel.on and not plan.algorithm.reads_rows:
            f.held = ModelDownloads.begin(f.downloads, plan.info.listed, plan.people.clients)
        return f

    @property
    def full_plan(self) -> Plan:
        """The plan with everyone's data, which a shard of a federation has not."""
        assert isinstance(self.plan, Plan)
        return self.plan

    def client(self, client: int) -> ClientState:
        """What one client keeps."""
        return {name: stack[client] for name, stack in self.states.items()}

    def keep(self, client: int, state: ClientState) -> None:
        """Replace what one client keeps."""
        for name, value in state.items():
            self.states[name][client] = value

    def takes_part(self, phase: Phase, called: Ints | None) -> Ints:
        """Of the clients called, None: all, those who allow what is asked and were counted before."""
        there = self.plan.people.answering(phase.asks)
        if phase.follows:
            there = there & self.counted[phase.follows]
        return np.flatnonzero(there).astype(np.int32) if called is None else called[there[called]]

    def remember_counted(self, phase: Phase, clients: Iterable[int]) -> None:
        """Keep whose updates were counted, if another phase follows this one."""
        if self.plan.itinerary.followed(phase):
            self.counted[phase.name] = np.zeros(self.plan.people.clients, np.bool_)
            self.counted[phase.name][np.fromiter(clients, np.int64)] = True

    @property
    def published(self) -> Arrays:
        """The public model as every device gets it in this round."""
        if self._published is None or self._published[0] is not self.server:
            plan, model = self.plan, self.server.model
            publishes = plan.algorithm.publishes(plan.info)
            self._published = self.server, plan.channel.as_downloaded(model, publishes, plan.info.listed)
        return self._published[1]

    def received_model(self, phase: Phase) -> Arrays:
        """What a client has of the public model in a visit of this phase."""
        return self.published if phase.fetches_model else {}

    @property
    def downloads(self) -> MessageSpec:
        """How the public model travels."""
        return self.plan.channel.downloads(self.plan.algorithm.publishes(self.plan.info))

    def show_sum(self, phase: Phase, round: int, clients: Ints, received: Total | IndividualUpdates) -> None:
        """Show a sum to who records them, with the public model that the clients answered."""
        if self.record_sums is not None and isinstance(received, Total):
            self.record_sums(ObservedSum(phase, round, clients, self.plan.info, self.published, received))

    def step(self, server: ServerState, answers: Answers) -> None:
        """Go on from the server's step; what has become public then is known to everyone."""
        before, self.server, self.answers = self.server.model, server, answers
        self.plan = self.plan.after(server.model)
        if self.held is not None:
            self.held.moved(before, server.model, self.downloads)

    def count_visits(self, phase: Phase, visits: int, rows: Mapping[str, int], clients: Ints | None) -> None:
        """What so many visits moved: updates with so many rows of each table, or the vectors of a channel.

        `clients` are who they were of, None where single visits are not told apart.
        """
        chain = self.plan.chains.get(phase.name)
        if chain is None:
            self.tally.count_updates(phase.sends, visits, rows)
        else:
            self.tally.count_vectors(visits, chain.rows, chain.upload_bytes)
        self.count_download(phase, visits, clients)

    def count_download(self, phase: Phase, visits: int, clients: Ints | None) -> None:
        """What the visits fetched: devices the rows that changed since their last visit, as HTTP moves them.

        Without a channel, as in the papers, every visit brings a client all that its phase needs.
        """
        info = self.plan.info
        if self.plan.algorithm.knows_counts(phase) and info.counts is not None:  # released by an earlier phase
            self.tally.bytes_down += visits * released_counts_bytes(info.items)
        if not phase.fetches_model:
            return
        if self.plan.algorithm.reads_rows:
            return self._count_reads(phase.receives or self.plan.algorithm.publishes(info), visits)
        if self.held is not None and clients is not None:
            return self.tally.count_down(*self.held.fetch(clients))
        needs = phase.receives or self.plan.algorithm.publishes(info)
        self._count_models(self.plan.channel.downloads(needs), visits)

    def count_outcome(self, phase: Phase, clients: Ints) -> None:
        """What clients fetch after a phase: the public model where no later round brings it, their answers."""
        algorithm = self.plan.algorithm
        if phase.returns and algorithm.reads_rows:
            self._count_reads(algorithm.ranking_tables(algorithm.publishes(self.plan.info)), len(clients))
        elif phase.returns and self.held is not None:
            self.tally.count_down(*self.held.fetch(clients))
        elif phase.returns:
            self._count_models(self.downloads, len(clients))
        for answer in self.answers.values():
            self.tally.bytes_down += HEADER_BYTES + sum(COUNT_BYTES + array.nbytes for array in answer.values())

    @property
    def final_bytes(self) -> int:
        """What everyone downloads after the last round, to rank with the model it led to, beyond the tally."""
        plan, phases = self.plan, self.plan.algorithm.phases(self.plan.info)
        if phases[-1].returns:
            return 0
        if self.held is not None:
            return self.held.missing(np.arange(plan.people.clients, dtype=np.int32))[1]
        return plan.info.clients * self.downloads.model_bytes(len(plan.info.listed))

    def _count_reads(self, tables: MessageSpec, times: int) -> None:
        """Own rows that so many devices read in private, or whole tables where those are shorter."""
        up, down = read_bytes(self.plan.algorithm, tables, len(self.plan.info.listed))
        self.tally.bytes_up += times * up
        self.tally.count_down(times * self.plan.algorithm.reads_rows, times * down)

    def _count_models(self, downloads: MessageSpec, times: int) -> None:
        listed = len(self.plan.info.listed)
        rows = max((listed if t.space == "item" else t.rows for t in downloads.tables), default=0)
        self.tally.count_down(times * rows, times * downloads.model_bytes(listed))


class Runtime:
    """How rounds are carried: by default one exchange after the other."""

    def kernel_for(self, algorithm: Algorithm, through: tuple[Phase, ...] = ()) -> Kernel | None:
        """The compiled path this runtime takes for the algorithm, or None for the plain one.

        `through` are the phases whose updates go through a channel: a kernel must know its stages.
        """
        return None

    def run(self, federation: Federation, rounds: range) -> None:
        """Run these rounds, the next ones of the federation's itinerary."""
        f, at, called = federation, federation.plan.itinerary.at(rounds.start), None
        while at.done < rounds.stop:
            called = _called(f, at, called if at.step else None)
            self.exchange(f, at, called)
            at = f.plan.itinerary.after_success(at)  # what is exchanged may depend on what has become public
        f.rounds = rounds.stop

    def exchange(self, f: Federation, at: Position, called: Ints | None) -> None:
        """One phase of one round with those called, None: everyone; and the server's step."""
        raise NotImplementedError


def _called(f: Federation, at: Position, before: Ints | None) -> Ints | None:
    """Who is called, where those called in the round so far are known; a list of everyone is not made."""
    itinerary, clients = f.plan.itinerary, f.plan.info.clients
    if itinerary.called(at) == clients and itinerary.phase(at).part == 1:
        return before
    everyone = np.arange(clients, dtype=np.int32)
    return itinerary.cohort(at, everyone, f.plan.server_secret, everyone if before is None else before)


def server_step(
    algorithm: Algorithm, phase: str, round: int, server: ServerState, received: Total | IndividualUpdates
) -> tuple[ServerState, Answers]:
    """The server's step; whatever goes wrong in it is said with the round it happened in."""
    try:
        return algorithm.server_step(phase, server, received)
    except DivergenceError:
        raise
    except Exception as error:
        raise failure("the server", round, phase, "server_step", error) from error


def failure(who: str, round: int, phase: str, stage: str, error: Exception) -> FederationError:
    """The sentence for what failed where."""
    return FederationError(
        f"{who} failed in round {round} of phase '{phase}' at {stage}: {type(error).__name__}: {error}"
    )
