"""The server of a federation of organisations: it asks every silo, adds up their sums and takes its step.

Sums are whole numbers of a ring, so any cut of the people into silos gives the bits of the simulation. The
server saves itself after every round; started again, it asks for the round at work once more, and silos that
have answered give the same reply.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.codec import decode
from murmura.core.contract import Phase
from murmura.core.errors import FederationError
from murmura.core.files import prefixed, write_archive
from murmura.core.locks import locked
from murmura.core.progress import SILENT, Progress
from murmura.core.update import Arrays
from murmura.engine.federation import Federation
from murmura.engine.fit import load_checkpoint, run_rounds
from murmura.engine.itinerary import Position
from murmura.runtimes.ranges import FINISHED, PartialSum, RangeRuntime, add
from murmura.server.organisations.folder import SiloTerms
from murmura.server.organisations.silo import SiloReply, SiloRequest
from murmura.wire.wire import pack_arrays

MODEL = "model.npz"
Ask = Callable[[Mapping[int, bytes]], Mapping[int, bytes]]  # a message for each node -> each node's reply


def model_digest(model: Arrays) -> str:
    """A SHA-256 over the tables of a public model: equal models, equal digests."""
    return hashlib.sha256(pack_arrays(model)).hexdigest()


@dataclass(eq=False)
class SiloRuntime(RangeRuntime):
    """A runtime whose clients are in silos, behind `send`."""

    terms: SiloTerms
    ranges: Mapping[int, range]  # node -> the numbers of its clients
    send: Ask

    def finish(self, f: Federation) -> None:
        """Hand the final model to every silo."""
        self._replies(f, Position(done=f.rounds, round=f.rounds), FINISHED, np.zeros(0, np.int32))

    def ask(self, f: Federation, at: Position, called: Ints | None) -> PartialSum:
        """What all silos sent that did not decline."""
        phase = f.plan.itinerary.phase(at)
        everyone = np.arange(f.plan.info.clients, dtype=np.int32)
        replies = self._replies(f, at, phase.name, everyone if called is None else called)
        taking_part = {node: reply for node, reply in replies.items() if not reply.declined}
        if not taking_part:
            why = next(iter(replies.values())).declined
            raise FederationError(
                f"phase '{phase.name}' of round {at.round} needs a sum, but every silo declined: {why}."
            )
        sent = add(*(_sum_of(f, phase, self.ranges[node].start, reply) for node, reply in taking_part.items()))
        f.tally.visits += sent.count
        return sent

    def _replies(self, f: Federation, at: Position, phase: str, clients: Ints) -> dict[int, SiloReply]:
        requests = {}
        for node, own in self.ranges.items():
            cohort = (clients[(clients >= own.start) & (clients < own.stop)] - own.start).astype(np.int32)
            answers = {client - own.start: one for client, one in f.answers.items() if client in own}
            request = SiloRequest(at, phase, f.published, cohort, answers, federation=self.terms.name)
            requests[node] = request.encode()
        replies = self.send(requests)
        f.tally.bytes_down += sum(map(len, requests.values()))
        f.tally.bytes_up += sum(map(len, replies.values()))
        read = {node: SiloReply.decode(replies[node]) for node in self.ranges if node in replies}
        for node, own in self.ranges.items():
            if node not in read or read[node].request != hashlib.sha256(requests[node]).hexdigest():
                raise FederationError(
                    f"every silo must answer, but that of clients {own.start} to {own.stop - 1} has not "
                    f"answered round {at.done}; start it, and then the server again: it goes on from here."
                )
        return read


def _sum_of(f: Federation, phase: Phase, first: int, reply: SiloReply) -> PartialSum:
    """A reply with the clients' numbers in the federation."""
    chain = f.plan.chains.get(phase.name)
    updates = {first + client: decode(one, phase.sends) for client, one in reply.updates.items()}
    refused = {first + client: why for client, why in reply.refused.items()}
    sums = None if chain is None else chain.ring.unpack(reply.vector).astype(np.int64)
    return PartialSum(reply.people, sums, updates, refused)


def ranges_of(terms: SiloTerms, introductions: Mapping[int, bytes]) -> dict[int, range]:
    """Which clients are at which node; refuses silos of other terms, and people who are nowhere or twice."""
    ranges: dict[int, range] = {}
    for node, message in introductions.items():
        silo = json.loads(message)
        if silo["federation"] != terms.name:
            raise FederationError(
                f"every silo must have the terms {terms.name[:16]}, but node {node} has "
                f"{silo['federation'][:16]}; give all of them the same federation.json."
            )
        ranges[node] = range(silo["first"], silo["first"] + silo["clients"])
    place = 0
    for own in sorted(ranges.values(), key=lambda one: one.start):
        if own.start != place:
            raise FederationError(
                f"the silos must hold the clients 0 to {terms.info.clients - 1} once each, but client "
                f"{min(own.start, place)} is {'nowhere' if own.start > place else 'in two of them'}; start the "
                "missing silo, or agree on other numbers."
            )
        place = own.stop
    if place != terms.info.clients:
        raise FederationError(
            f"the silos must hold the clients 0 to {terms.info.clients - 1} once each, but client {place} is "
            "nowhere; start the missing silo."
        )
    return dict(sorted(ranges.items(), key=lambda one: one[1].start))


def serve_silos(
    terms: SiloTerms,
    ranges: Mapping[int, range],
    ask: Ask,
    folder: Path,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Federation:
    """Train a federation of organisations, or go on with it from the folder's checkpoint.

    The final model is in `model.npz` of the folder, and every silo has it.
    """
    with locked(folder):
        f = Federation.begin(terms.plan(seed=seed))
        f.held = None  # who has which model is the silos' own affair
        lines = load_checkpoint(folder, f)
        runtime = SiloRuntime(terms, ranges, ask)
        run_rounds(f, lines, runtime, folder, 1, progress)
        runtime.finish(f)
        about = {"digest": model_digest(f.published), "rounds": f.rounds, "read": terms.label}
        write_archive(folder / MODEL, prefixed(model=f.published), {**about, "federation": terms.name})
        return f
