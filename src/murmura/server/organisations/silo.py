"""A silo: one organisation's people, and what it does when the server of the federation asks.

Requests and replies are one message of named arrays (`pack_arrays` of the wire format) each, with the plain
values as JSON in the array `about`. Equal content, equal bytes: a request repeated after a restart is the same
request.

Its folder holds the terms, the people and a checkpoint of their states together with the replies of the round
at work. A request that was answered before gets the same reply, and nothing is trained twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.codec import encode
from murmura.core.contract import RoundContext, ServerState
from murmura.core.errors import FederationError, RunError
from murmura.core.files import answers_of, flat_answers, group, prefixed
from murmura.core.locks import locked
from murmura.core.population import member_places
from murmura.engine.federation import Federation
from murmura.engine.fit import CHECKPOINT, load_checkpoint, read_auxiliary, save_checkpoint
from murmura.engine.itinerary import Position
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.ranges import FINISHED, Request, answer, receive
from murmura.server.organisations.folder import SiloTerms, SiloUsers
from murmura.wire.wire import pack_arrays, unpack_arrays


@dataclass(frozen=True, eq=False)
class SiloRequest(Request):
    """One exchange, as it is asked of a silo: the cohort is counted from its first client."""

    federation: str = ""  # the name of the terms

    def encode(self) -> bytes:
        """As it travels."""
        about = {"federation": self.federation, "at": json.loads(self.at.encode()), "phase": self.phase}
        arrays, cohort = prefixed(model=self.model, answers=flat_answers(self.answers)), self.cohort
        assert cohort is not None
        return pack_arrays({**arrays, "cohort": cohort, "about": _plain(about)})

    @staticmethod
    def decode(message: bytes) -> SiloRequest:
        """From what travelled."""
        arrays, about = _read(message, ("federation", "at", "phase"), ("cohort",))
        return SiloRequest(
            Position(**about["at"]),
            str(about["phase"]),
            group(arrays, "model"),
            arrays["cohort"].astype(np.int32),
            answers_of(group(arrays, "answers")),
            federation=str(about["federation"]),
        )


@dataclass(frozen=True, eq=False)
class SiloReply:
    """What a silo answers: the packed sum of its people's vectors, or each update where there is no channel."""

    request: str = ""  # the SHA-256 of the request it answers
    people: int = 0  # whose updates are in it
    vector: bytes = b""
    updates: Mapping[int, bytes] = field(default_factory=dict)  # by client of the silo
    refused: Mapping[int, str] = field(default_factory=dict)  # whose update was left out, and why
    declined: str = ""  # why nothing was sent

    def encode(self) -> bytes:
        """As it travels."""
        about = {
            "request": self.request,
            "people": self.people,
            "refused": {str(client): why for client, why in self.refused.items()},
            "declined": self.declined,
        }
        updates = {str(client): as_array(update) for client, update in self.updates.items()}
        return pack_arrays(
            {**prefixed(updates=updates), "vector": as_array(self.vector), "about": _plain(about)}
        )

    @staticmethod
    def decode(message: bytes) -> SiloReply:
        """From what travelled."""
        arrays, about = _read(message, ("request", "people", "refused", "declined"), ("vector",))
        updates = {int(client): update.tobytes() for client, update in group(arrays, "updates").items()}
        return SiloReply(
            str(about["request"]),
            int(about["people"]),
            arrays["vector"].tobytes(),
            dict(sorted(updates.items())),
            {int(client): str(why) for client, why in about["refused"].items()},
            str(about["declined"]),
        )


def _plain(values: Mapping[str, Any]) -> NDArray[Any]:
    return as_array(json.dumps(values, sort_keys=True).encode())


def as_array(content: bytes) -> NDArray[Any]:
    """Bytes among the arrays of a message."""
    return np.frombuffer(content, np.uint8)


def _read(
    message: bytes, plain: tuple[str, ...], wanted: tuple[str, ...]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the plain values; refuses a message that lacks any."""
    arrays = unpack_arrays(message)
    about = json.loads(arrays.pop("about").tobytes()) if "about" in arrays else {}
    if missing := [name for name in (*plain, *wanted) if name not in about and name not in arrays]:
        raise FederationError(
            f"a message between server and silo must have {', '.join((*plain, *wanted))}, but lacks "
            f"{missing[0]}; both sides need the same version of Murmura."
        )
    return arrays, about


class Silo:
    """One organisation in a federation, as its folder keeps it."""

    def __init__(self, folder: Path, workers: int = 1) -> None:
        self.folder, self.runtime = folder, InProcess(workers=workers)
        self.terms = SiloTerms.read(folder)
        self.held = SiloUsers.read(folder, self.terms)

    def introduce(self) -> bytes:
        """What the server is told before the first round."""
        shown = {"federation": self.terms.name, "first": self.held.first, "clients": self.held.clients}
        return json.dumps(shown, sort_keys=True).encode()

    def answer(self, message: bytes) -> bytes:
        """The reply to a request; to one that was answered before, the same."""
        with locked(self.folder):
            request, kept = SiloRequest.decode(message), read_auxiliary(self.folder)
            name = hashlib.sha256(message).hexdigest()
            if name in kept:
                return kept[name].tobytes()
            last = Position.decode(kept["at"].tobytes()) if "at" in kept else None
            self._check(request, last)
            f = self.federation()
            if last is None:
                f.server = ServerState(request.model)
            receive(f, request)
            f.rounds = request.at.done
            reply = replace(self._reply(f, request), request=name).encode()
            same = {key: one for key, one in kept.items() if last is not None and last.done == request.at.done}
            same |= {name: as_array(reply), "at": as_array(request.at.encode())}
            save_checkpoint(self.folder, f, [], same)
            return reply

    def federation(self) -> Federation:
        """The silo's people with their states, as the last exchange left them, or as they begin."""
        plan = self.terms.plan(self.held.population(self.terms))
        f = Federation.begin(plan, self.runtime.kernel_for(plan.algorithm, plan.through))
        load_checkpoint(self.folder, f)
        return f

    def scores(self, user: int) -> NDArray[Any]:
        """The scores of all items for one of the silo's people, by the latest model it was sent."""
        if not (self.folder / CHECKPOINT).exists():
            raise RunError(
                f"a silo must have a model to rank with, but {self.folder} has no model yet; run the "
                "federation first."
            )
        f, groups = self.federation(), self.held.groups
        client = user if groups is None else int(groups[user])
        place = 0 if groups is None else int(member_places(groups)[user])
        a, people = f.plan.algorithm, f.plan.people
        context = RoundContext(f.plan.info, "ready", f.rounds, f.published, f.answers.get(client))
        history, rng = people.history(client, f.rounds), people.rng(client, f.rounds)
        own = a.client_ready(context, f.client(client), history, rng)
        ranked: NDArray[Any] = a.client_score(context, own, history)[place]
        return ranked

    def recommend(self, user: str, top: int) -> list[tuple[Any, float]]:
        """The best items a person has not met, with their scores; ties go to the lower item."""
        data = self.held.data
        (code,) = data.users.index([user if data.users.is_text else _number(user)], "user")
        scores, items = self.scores(int(code)).astype(np.float64), self.terms.description.items.labels
        offered = np.setdiff1d(self.terms.info.listed, data.by_user.of(int(code)))
        best = offered[np.argsort(-scores[offered], kind="stable")[:top]]
        return [(items[item].item(), float(scores[item])) for item in best.tolist()]

    def _check(self, request: SiloRequest, last: Position | None) -> None:
        if request.federation != self.terms.name:
            raise FederationError(
                f"a silo of federation {self.terms.name[:16]} must be asked by its server, but was asked by "
                f"that of {request.federation[:16]}; give both the same terms."
            )
        if last is not None and (request.at.done, request.at.step) <= (last.done, last.step):
            raise FederationError(
                f"this silo has answered round {last.done}, step {last.step}; it must be asked for what comes "
                f"after it, but was asked for round {request.at.done}, step {request.at.step}, in another way; "
                "start the server from its latest checkpoint, or all of it anew."
            )
        assert request.cohort is not None
        if len(request.cohort) and not 0 <= request.cohort.min() <= request.cohort.max() < self.held.clients:
            raise FederationError(f"a silo of {self.held.clients} clients was asked for one it does not have.")

    def _reply(self, f: Federation, request: SiloRequest) -> SiloReply:
        """What leaves: one sum through the channel; where there is none, the server adds each update itself."""
        if request.phase == FINISHED:
            return SiloReply()
        phase = f.plan.itinerary.phase(request.at)
        if phase.name != request.phase:
            raise FederationError(
                f"this exchange must be of phase '{phase.name}', but the server asks for '{request.phase}'; "
                "both sides need the same version of Murmura."
            )
        clients, chain, least = (
            f.takes_part(phase, request.cohort),
            f.plan.chains.get(phase.name),
            f.plan.channel.minimum_cohort,
        )
        if chain is not None and len(clients) < least:
            f.remember_counted(phase, [])
            return SiloReply(declined=f"a sum must be of at least {least} people, but is of {len(clients)}")
        if chain is None:
            f.kernel = None
        if not len(clients):
            return SiloReply(declined="nobody here is called")
        sent = answer(f, self.runtime, request, clients)
        updates = {client: encode(update, phase.sends) for client, update in sent.updates.items()}
        vector = b"" if chain is None or sent.sums is None else chain.ring.pack(chain.ring.wrap(sent.sums))
        return SiloReply(people=sent.count, vector=vector, updates=updates, refused=sent.refused)


def _number(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text
