"""All clients of a simulation in this process: a plain loop to read and debug, or an algorithm's compiled path.

Workers, the order in which clients answer and whether messages become bytes on the way change no result: the
updates of a round are always added in the order of the clients.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from murmura.channel.chain import Chain
from murmura.core.arrays import Ints, Longs
from murmura.core.codec import decode, encode
from murmura.core.compiled_path import CarryingKernel, Kernel, Stretch
from murmura.core.disclosure import COUNT_BYTES, HEADER_BYTES
from murmura.core.errors import FederationError, MurmuraError, SettingError
from murmura.core.federation import Algorithm, ClientState, History, Letters, Phase, Total
from murmura.core.record import Letter
from murmura.core.rng import Purpose, Rng, Words
from murmura.core.settings import settings
from murmura.core.update import Update, add_up
from murmura.engine.federation import Federation


@dataclass(frozen=True, eq=False)
class _Visit:
    """What came of one visit."""

    state: ClientState
    update: Update
    history: History
    vector: Words | None = None  # what leaves, where it goes through a channel


_Answer = tuple[_Visit | None, str | None]  # or why there is none


@settings
class InProcess:
    """A runtime in one process.

    `path`: "kernel" insists on the compiled path, "plain" on the loop, "auto" compiles where it can.
    `wire` sends every update through its bytes, `arrival` seeds a shuffled order of answers (plain loop only).
    """

    workers: Annotated[int, Field(ge=1)] = 1
    path: Literal["auto", "plain", "kernel"] = "auto"
    wire: bool = False
    arrival: int | None = None

    def kernel_for(self, algorithm: Algorithm, carried: tuple[Phase, ...] = ()) -> Kernel | None:
        """The algorithm's compiled path, if it is wanted and knows the channel of the `carried` phases.

        Refuses to insist on one that does not exist.
        """
        kernel = None if self.path == "plain" or self.wire else algorithm.kernel()
        if carried and not (isinstance(kernel, CarryingKernel) and all(map(kernel.carries, carried))):
            kernel = None
        if self.path == "kernel" and kernel is None:
            raise SettingError(
                f"path must be 'auto' or 'plain' for {algorithm.name}, which has no compiled path here, "
                "but it is 'kernel'."
            )
        return kernel

    def run(self, federation: Federation, stretch: Stretch) -> None:
        """Run the rounds of a stretch, compiled where the kernel covers them."""
        f, kernel = federation, federation.kernel
        if kernel is not None and len(stretch.phases) == 1 and kernel.covers(stretch.phases[0], stretch.cohort):
            f.server = kernel.run(f.public, f.server, f.states, f.people, f.tally, stretch)
        else:
            for round in range(stretch.first, stretch.first + stretch.rounds):
                clients = cohort(f, round, stretch.cohort)
                for phase in stretch.phases:
                    self._exchange(f, phase, round, clients)
        f.rounds += stretch.rounds

    def _exchange(self, f: Federation, phase: Phase, round: int, clients: Ints) -> None:
        """One phase of one round: every client's step, the sum in the order of clients, the server's step."""
        clients = clients[f.people.answering(phase.asks)[clients]]
        order = np.arange(len(clients))
        if self.arrival is not None:
            order = np.random.default_rng((self.arrival, round)).permutation(order)
        ask = partial(self._visit, f, phase, round)
        called = clients[order].tolist()
        chain = f.chains.get(phase.name)
        total = np.zeros(0 if chain is None else chain.words, np.int64)
        with ThreadPoolExecutor(self.workers) as pool:
            answers = map(ask, called) if self.workers == 1 else pool.map(ask, called)
            arrived = dict(zip(called, (_poured(answer, total) for answer in answers)))
        updates = {}
        for client in clients.tolist():
            visit, why = arrived[client]
            if visit is not None:
                f.keep(client, visit.state)
                _count(f, phase, round, client, visit)
                if f.record is not None:
                    f.record(Letter(phase.name, round, client, f.server.model, visit.update))
                updates[client] = visit.update
            if why is not None:
                updates.pop(client, None)
                f.refused[client] = why
        if not updates:
            first = next(iter(f.refused.values()), "nobody takes part.")
            raise FederationError(
                f"phase '{phase.name}' of round {round} needs at least one letter, but all {len(clients)} were "
                f"refused; the first because {first}"
            )
        try:
            inbox = _inbox(phase, chain, round, updates, total)
            f.server, f.answers = f.algorithm.server_step(phase.name, f.server, inbox)
        except Exception as error:
            raise _failure("the server", round, phase, "server_step", error) from error
        _count_outcome(f, phase, len(clients))

    def _visit(self, f: Federation, phase: Phase, round: int, client: int) -> _Answer:
        """What the client keeps and sends; where the server reads letters, perhaps why it is left out."""
        stage = "history"
        try:
            history, rng = f.people.history(client, round), f.people.rng(client, round)
            stage = "client_step"
            state, update = f.algorithm.client_step(
                f.call(phase.name, round, client), f.client(client), history, rng
            )
            stage = "check of what leaves"
            phase.sends.check(update)
            check_consent(phase, update, history)
            chain, vector = f.chains.get(phase.name), None
            if chain is not None:
                stage = "channel"
                update = chain.layout.inside(update, round)
                vector = chain.device(update, rng, round)
            stage = "encoding"
            if self.wire:
                update = decode(encode(update, phase.sends), phase.sends)
            why = f.algorithm.server_refuses(phase, update) if phase.combine == "each" else None
        except Exception as error:
            if phase.combine == "each" and isinstance(error, MurmuraError):
                return None, str(error)
            raise _failure(f"client {client}", round, phase, stage, error) from error
        return _Visit(state, update, history, vector), why


def _poured(answer: _Answer, total: Longs) -> _Answer:
    """The answer without its vector, added at once: whole numbers have no order, and vectors are long."""
    visit, why = answer
    if visit is None or visit.vector is None:
        return answer
    total += visit.vector
    return replace(visit, vector=None), why


def _inbox(
    phase: Phase, chain: Chain | None, round: int, updates: dict[int, Update], total: Longs
) -> Total | Letters:
    """What the server gets: every letter, the sum in the order of clients, or the sum the channel gives."""
    if phase.combine == "each":
        return Letters(updates)
    return Total(add_up(updates.values()), len(updates)) if chain is None else chain.sum_up(total, round)


def cohort(f: Federation, round: int, size: int) -> Ints:
    """The clients of a round, ascending: all, or drawn by the server without replacement."""
    if size == f.people.clients:
        return np.arange(size, dtype=np.int32)
    return Rng(f.server_secret, round).stream(Purpose.SELECT).choose(f.people.clients, size)


def check_consent(phase: Phase, update: Update, history: History) -> None:
    """Refuse an update with a row of an item that its owner does not share."""
    unshared = history.item[history.share == 0]
    for table in phase.sends.tables:
        if table.space == "item" and np.isin(update.tables[table.name].index, unshared).any():
            raise FederationError(
                f"the table '{table.name}' must not hold a row of an item its owner does not share, but does."
            )


def _count(f: Federation, phase: Phase, round: int, client: int, visit: _Visit) -> None:
    """What this visit moved, and which positives it disclosed."""
    update = visit.update
    rows = {name: len(table) for name, table in update.tables.items()}
    receives = f.channel.downloads(phase.receives or f.algorithm.publishes(f.public))
    chain = f.chains.get(phase.name)
    if chain is None:
        f.tally.count(f.public, receives, phase.sends, 1, rows)
    else:
        f.tally.count_vectors(f.public, receives, 1, chain)
    for table in phase.sends.tables:
        if table.space == "item":
            index = update.tables[table.name].index if chain is None else chain.block(round)
            f.tally.item_rows[index] += 1
    shown = f.algorithm.client_discloses(phase, update, visit.history, f.people.rng(client, round))
    places = f.people.start[client] + np.flatnonzero(shown)
    f.tally.disclosed[client] += np.count_nonzero(f.tally.sent[places] == 0)
    f.tally.sent[places] = 1


def _count_outcome(f: Federation, phase: Phase, clients: int) -> None:
    """What clients fetch after a phase: the public model where no later round brings it, and their answers."""
    if phase.returns:
        f.tally.count_down(f.public, f.channel.downloads(f.algorithm.publishes(f.public)), clients)
    for told in f.answers.values():
        f.tally.bytes_down += HEADER_BYTES + sum(COUNT_BYTES + array.nbytes for array in told.values())


def _failure(who: str, round: int, phase: Phase, stage: str, error: Exception) -> FederationError:
    return FederationError(
        f"{who} failed in round {round} of phase '{phase.name}' at {stage}: {type(error).__name__}: {error}"
    )
