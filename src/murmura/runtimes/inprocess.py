"""All clients of a simulation in this process: a plain loop to read and debug, or an algorithm's compiled path.

Workers, the order in which clients answer and whether messages become bytes on the way change no result: the
updates of a round are always added in the order of the clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from murmura.channel.chain import Chain
from murmura.channel.simulated_protections import protected_sum
from murmura.core.arrays import Ints, Longs
from murmura.core.channel import SUM_PROTOCOLS
from murmura.core.claims import WeightedClaim
from murmura.core.codec import decode, encode
from murmura.core.contract import Algorithm, IndividualUpdates, Phase, RoundContext, Total
from murmura.core.errors import DivergenceError, FederationError, MurmuraError, SettingError
from murmura.core.kernel import CohortRound, CompiledChannel, Kernel, SequentialKernel
from murmura.core.rng import Words
from murmura.core.settings import Fraction, settings
from murmura.core.update import RunningSum, SentUpdate, Update
from murmura.engine.federation import Federation, Runtime, failure, server_step
from murmura.engine.itinerary import Position
from murmura.engine.visit import Visit, stage, visit
from murmura.kernels.batched_kernel import batched

_Answer = tuple[Visit | None, str | None]  # or why there is none
AT_ONCE = 64  # clients whose updates are in memory together


@dataclass(frozen=True, eq=False)
class PhaseVisits:
    """One phase of one round, and the clients that are visited in it."""

    f: Federation
    phase: Phase
    round: int
    clients: Ints
    through: CompiledChannel | None = None  # what adds up the vectors of a channel
    malicious: tuple[int, ...] = ()  # clients who are counted besides

    @property
    def chain(self) -> Chain | None:
        """The channel of the phase."""
        return self.f.plan.chains.get(self.phase.name)


@settings
class InProcess(Runtime):
    """A runtime in one process.

    `path`: "kernel" insists on the compiled path, "batched" on a step for many clients at once, "plain" on the
    loop; "auto" takes the first of them that there is.
    `wire` sends every update through its bytes, `arrival` seeds a shuffled order of answers (plain loop only).
    `drop_out` is the share of devices that are lost in each sum of a simulated protocol, half of them before
    their upload and half after it.
    """

    workers: Annotated[int, Field(ge=1)] = 1
    path: Literal["auto", "kernel", "batched", "plain"] = "auto"
    wire: bool = False
    arrival: int | None = None
    drop_out: Fraction = 0.0

    def kernel_for(self, algorithm: Algorithm, through: tuple[Phase, ...] = ()) -> Kernel | None:
        """The algorithm's quickest path that is wanted and knows the channel of the phases `through` one.

        Refuses to insist on one that does not exist.
        """
        kernel = None if self.path not in ("auto", "kernel") or self.wire else algorithm.kernel()
        if kernel is None and self.path in ("auto", "batched") and not self.wire:
            kernel = batched(algorithm)
        if kernel is not None and not all(kernel.covers(phase, channel=True) for phase in through):
            kernel = None
        if self.path in ("kernel", "batched") and kernel is None:
            kind = "compiled path" if self.path == "kernel" else "step for many clients at once"
            raise SettingError(
                f"path must be 'auto' or 'plain' for {algorithm.name}, which has no {kind} here, "
                f"but it is '{self.path}'."
            )
        return kernel

    def run(self, federation: Federation, rounds: range) -> None:
        """Run these rounds, compiled where the kernel covers them."""
        f, itinerary = federation, federation.plan.itinerary
        at = itinerary.at(rounds.start)
        phase = itinerary.phase(at)
        if self._one_by_one(f, phase, itinerary.called(at)):  # all in one call of the kernel
            assert isinstance(f.kernel, SequentialKernel)
            info, people, secret = f.plan.info, f.plan.people, f.plan.server_secret
            f.server, sent = f.kernel.run_rounds(info, f.server, f.states, people, f.tally, rounds, secret)
            f.count_visits(phase, len(rounds), {phase.sends.tables[0].name: sent}, None)
            rounds = range(rounds.stop, rounds.stop)
        super().run(f, rounds)

    def _one_by_one(self, f: Federation, phase: Phase, called: int) -> bool:
        """Whether the kernel runs the rounds of one client itself."""
        kernel, alone = f.kernel, len(f.plan.itinerary.training) == 1 and phase.repeat is None
        alone = alone and phase.part == 1 and not phase.follows
        if not isinstance(kernel, SequentialKernel) or not f.plan.channel.plain or f.record_sums is not None:
            return False
        return called == 1 and alone and kernel.sequential(phase)

    def exchange(self, f: Federation, at: Position, called: Ints | None) -> None:
        """One phase of one round: what the clients that take part send, and the server's step."""
        phase, round = f.plan.itinerary.phase(at), at.round
        clients, chain = f.takes_part(phase, called), f.plan.chains.get(phase.name)
        if not len(clients):
            raise FederationError(f"phase '{phase.name}' of round {round} needs a client, but has none.")
        exchange = PhaseVisits(f, phase, round, clients, chain)
        if f.liars is not None:
            context = RoundContext(f.plan.info, phase.name, round, f.received_model(phase))
            malicious, malicious_sum = f.liars.called(f.plan, phase, context, clients)
            clients = np.setdiff1d(clients, malicious)
            exchange = PhaseVisits(f, phase, round, clients, malicious_sum or chain, tuple(malicious.tolist()))
        if chain is not None and chain.settings.channel in SUM_PROTOCOLS:
            if (summed := protected_sum()(self, exchange, chain)) is None:
                return
            received: Total | IndividualUpdates = summed
        else:
            received = self.collect(exchange)
        if isinstance(received, Total) and chain is None:  # a channel has its sums checked
            phase.sends.check_sum(received.update, received.count)
        f.show_sum(phase, round, clients, received)
        f.step(*server_step(f.plan.algorithm, phase.name, round, f.server, received))
        f.count_outcome(phase, clients)

    def collect(self, exchange: PhaseVisits) -> Total | IndividualUpdates:
        """What the clients send, compiled where the kernel covers it."""
        f, phase, chain = exchange.f, exchange.phase, exchange.chain
        compiled = chain is None or chain.settings.channel != "laplace"  # compiled paths clip by L2 alone
        if isinstance(phase.claim, WeightedClaim):
            compiled = chain is not None and chain.weighted is not None
        if f.kernel is None or not compiled or not f.kernel.covers(phase, channel=chain is not None):
            return self._plain(exchange)
        model, clients = f.received_model(phase), exchange.clients
        cohort = CohortRound(
            f.plan.info, phase, exchange.round, model, f.plan.people, clients, self.workers, exchange.through
        )
        total, rows = f.kernel.cohort_sum(cohort, f.states, f.tally)
        f.count_visits(phase, len(clients), rows, clients)
        f.remember_counted(phase, [*clients.tolist(), *exchange.malicious])
        return total

    def upload(self, exchange: PhaseVisits, client: int, arrives: bool) -> Words:
        """What the client sends through the channel; it is counted where it arrives."""
        visited, _ = self._visit(exchange, client)
        assert visited is not None
        assert visited.vector is not None
        exchange.f.keep(client, visited.state)
        if arrives:
            _record(exchange, client, visited)
        return visited.vector

    def _plain(self, exchange: PhaseVisits) -> Total | IndividualUpdates:
        """Every client's visit one by one; their sum is taken in the order of clients."""
        f, phase, chain, through = exchange.f, exchange.phase, exchange.chain, exchange.through
        individual = dict[int, Update]()
        vectors = np.zeros(0 if chain is None else chain.words, np.int64)
        total, counted = RunningSum(), list[int]()
        for client, (visited, why) in self._answers(exchange, vectors):
            if visited is not None:
                f.keep(client, visited.state)
                _record(exchange, client, visited)
            if why is not None:
                f.refused[client] = why
            elif visited is not None:
                counted.append(client)
                if phase.combine == "each":
                    individual[client] = visited.update
                elif chain is None:
                    total.add(visited.update)
        if not counted:
            first = next(iter(f.refused.values()), "nobody takes part.")
            raise FederationError(
                f"phase '{phase.name}' of round {exchange.round} needs at least one update, but all "
                f"{len(exchange.clients)} were refused; the first because {first}"
            )
        f.remember_counted(phase, [*counted, *exchange.malicious])
        if phase.combine == "each":
            return IndividualUpdates(individual)
        if through is None:
            return Total(total.update(), total.count)
        return through.sum_up(vectors, exchange.round)

    def _answers(self, exchange: PhaseVisits, vectors: Longs) -> Iterator[tuple[int, _Answer]]:
        """Every client's answer in the order of clients, a few at a time; vectors are added as they come.

        Where answers arrive in another order all of them must be here before the first can be added.
        """
        called, ask = exchange.clients.tolist(), partial(self._visit, exchange)
        if self.arrival is not None:
            rng = np.random.default_rng((self.arrival, exchange.round))
            called = rng.permutation(exchange.clients).tolist()
        with ThreadPoolExecutor(self.workers) as pool:

            def asked(some: list[int]) -> Iterator[tuple[int, _Answer]]:
                answers = map(ask, some) if self.workers == 1 else pool.map(ask, some)
                return zip(some, (_add_vector(answer, vectors) for answer in answers))

            if self.arrival is not None:
                yield from sorted(asked(called), key=itemgetter(0))
                return
            for first in range(0, len(called), AT_ONCE):
                yield from asked(called[first : first + AT_ONCE])

    def _visit(self, exchange: PhaseVisits, client: int) -> _Answer:
        """What the client keeps and sends; where the server reads updates, perhaps why it is left out."""
        f, phase, round = exchange.f, exchange.phase, exchange.round
        algorithm, people = f.plan.algorithm, f.plan.people
        try:
            with stage("history"):
                history, rng = people.history(client, round), people.rng(client, round)
            model = f.received_model(phase)
            context = RoundContext(f.plan.info, phase.name, round, model, f.answers.get(client))
            made = visit(algorithm, phase, context, f.client(client), history, rng, exchange.chain)
            with stage("encoding"):
                if self.wire:
                    made = replace(made, update=decode(encode(made.update, phase.sends), phase.sends))
                why = algorithm.server_refuses(phase, made.update) if phase.combine == "each" else None
        except DivergenceError:
            raise
        except Exception as error:
            if phase.combine == "each" and isinstance(error, MurmuraError):
                return None, str(error)
            raise failure(f"client {client}", round, phase.name, error.__notes__[-1], error) from error
        return made, why


def _add_vector(answer: _Answer, total: Longs) -> _Answer:
    """The answer without its vector, added at once: whole numbers have no order, and vectors are long."""
    made, why = answer
    if made is None or made.vector is None:
        return answer
    total += made.vector.astype(np.int64, copy=False)
    return replace(made, vector=None), why


def _record(exchange: PhaseVisits, client: int, made: Visit) -> None:
    """Count what this visit moved and which positives it disclosed, and show it to who records updates."""
    f, phase, chain = exchange.f, exchange.phase, exchange.chain
    tables = made.update.tables
    f.count_visits(phase, 1, {name: len(table) for name, table in tables.items()}, np.array([client]))
    for table in phase.sends.tables:
        if table.space == "item":
            index = tables[table.name].index if chain is None else chain.block(exchange.round)
            f.tally.item_rows[index] += 1
    places = f.plan.people.start[client] + np.flatnonzero(made.shown)
    f.tally.disclosed[client] += np.count_nonzero(f.tally.sent[places] == 0)
    f.tally.sent[places] = 1
    if f.record is not None:
        f.record(SentUpdate(phase.name, exchange.round, client, f.server.model, made.update))
