"""What each address answers: requests in, answers out, without a web framework.

A desk has one function per row of `endpoints`; `answer` checks version, length and guard before it is called.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from murmura.core.errors import MurmuraError
from murmura.runtimes.http import endpoints
from murmura.runtimes.http.aggregator import Aggregator
from murmura.runtimes.http.coordinator import Coordinator
from murmura.runtimes.http.endpoints import BINARY, JSON, TEXT, Endpoint
from murmura.runtimes.http.refusals import RefusedError
from murmura.runtimes.http.transport import VERSION_HEADER
from murmura.runtimes.http.wire import HASH_BYTES, check_version


@dataclass(frozen=True)
class Request:
    """What came in."""

    body: bytes = b""
    params: Mapping[str, str] = field(default_factory=dict)  # from the path
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case

    @property
    def token(self) -> str:
        """The bearer's token; refuses a request without one."""
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise RefusedError("unauthorised", "this needs a token, but the request shows none.")
        return token

    @property
    def name(self) -> bytes:
        """The hash in the path."""
        try:
            name = bytes.fromhex(self.params["name"])
        except ValueError:
            name = b""
        if len(name) != HASH_BYTES:
            raise RefusedError("malformed", "the path must name a hash of 64 hexadecimal digits, but does not.")
        return name


@dataclass(frozen=True)
class Answer:
    """What goes out."""

    body: bytes
    type: str = BINARY
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def json(value: Any) -> Answer:
        """Plain values."""
        return Answer(json.dumps(value).encode(), JSON)

    @staticmethod
    def refusal(error: RefusedError) -> Answer:
        """A typed no."""
        headers = {"retry-after": "1"} if error.code in ("rate", "full") else {}
        return Answer(error.body(), JSON, error.status, headers)


class Desk:
    """What both servers have."""

    endpoints: tuple[Endpoint, ...]

    def answer(self, endpoint: Endpoint, request: Request) -> Answer:
        """The answer of an address; every deliberate no is an answer too."""
        try:
            said = request.headers.get(VERSION_HEADER)
            if said is not None:
                check_version(int(said) if said.isascii() and said.isdigit() and len(said) < 6 else said[:20])
            self.guard(endpoint, request)
            made: Answer = getattr(self, endpoint.name)(request)
            return made
        except RefusedError as error:
            return Answer.refusal(error)
        except MurmuraError as error:
            return Answer.refusal(RefusedError("malformed", str(error)))

    def guard(self, endpoint: Endpoint, request: Request) -> None:
        """Refuse whoever may not ask this."""

    def largest(self, endpoint: Endpoint) -> int:
        """How many bytes of a body are read."""
        return endpoint.largest

    def healthz(self, request: Request) -> Answer:
        """It works."""
        return Answer.json({"ok": True})


class CoordinatorDesk(Desk):
    """The coordinator's addresses; events, page and metrics are the web server's."""

    endpoints = endpoints.COORDINATOR

    def __init__(self, coordinator: Coordinator) -> None:
        self.machine = coordinator

    def guard(self, endpoint: Endpoint, request: Request) -> None:
        """Operators' addresses take the operator's token."""
        if endpoint.guard == "operator":
            self.machine.check_operator(request.token)

    def largest(self, endpoint: Endpoint) -> int:
        """An update is never longer than what its round declares."""
        return self.machine.rounds.letter_bytes if endpoint.name == "letter" else endpoint.largest

    def key(self, request: Request) -> Answer:
        """Who this is."""
        return Answer.json({"key": self.machine.key.public.hex()})

    def about(self, request: Request) -> Answer:
        """What anyone may know."""
        return Answer.json(self.machine.about())

    def register(self, request: Request) -> Answer:
        """Join."""
        try:
            read = json.loads(request.body or b"{}")
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict) or set(read) - {"slot", "token"}:
            raise RefusedError("malformed", "joining takes a JSON object with at most a 'slot' and a 'token'.")
        return Answer.json(self.machine.register(read.get("slot"), read.get("token")))

    def leave(self, request: Request) -> Answer:
        """Leave."""
        self.machine.leave(request.token)
        return Answer.json({"left": True})

    def round(self, request: Request) -> Answer:
        """The open round; nothing for whoever knows it."""
        name, envelope = self.machine.manifest()
        headers = {"etag": f'"{name.hex()}"', "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Answer(b"", status=304, headers=headers)
        return Answer(envelope, headers=headers)

    def last(self, request: Request) -> Answer:
        """For someone who comes later."""
        return Answer(self.machine.last_manifest(), headers={"cache-control": "no-cache"})

    def blob(self, request: Request) -> Answer:
        """Immutable: its name is its hash."""
        content = self.machine.blob(request.name.hex())
        return Answer(content, headers={"cache-control": "public, max-age=31536000, immutable"})

    def ticket(self, request: Request) -> Answer:
        """Admission."""
        return Answer(self.machine.ticket(request.token, request.body))

    def letter(self, request: Request) -> Answer:
        """An update that the server can read."""
        return Answer(self.machine.letter(request.body))

    def answer_of(self, request: Request) -> Answer:
        """What this device alone was told."""
        return Answer(self.machine.answer(request.token))

    def status(self, request: Request) -> Answer:
        """For the operator."""
        return Answer.json(self.machine.status())

    def history(self, request: Request) -> Answer:
        """For the operator."""
        return Answer.json({"rounds": self.machine.history()})

    def order(self, request: Request) -> Answer:
        """Start, pause, stop."""
        return Answer.json(self.machine.order(request.params["what"]))

    def metrics(self, request: Request) -> Answer:
        """For Prometheus."""
        told, counters = self.machine.status(), self.machine.rounds.counters
        live = told["open"] or {"reports": 0, "called": 0}
        lines = {
            "murmura_devices": told["devices"],
            "murmura_rounds_done": told["rounds_done"],
            "murmura_rounds_committed_total": counters.committed,
            "murmura_rounds_abandoned_total": counters.abandoned,
            "murmura_round_reports": live["reports"],
            "murmura_round_called": live["called"],
        }
        return Answer(prometheus(lines), TEXT)


class AggregatorDesk(Desk):
    """An aggregator's addresses."""

    endpoints = endpoints.AGGREGATOR

    def __init__(self, aggregator: Aggregator) -> None:
        self.machine = aggregator

    def largest(self, endpoint: Endpoint) -> int:
        """Shares and lists of reports have limits of their own; nothing longer is read."""
        exact = {"report": self.machine.share_bytes, "release": self.machine.release_bytes}
        return exact.get(endpoint.name, endpoint.largest)

    def key(self, request: Request) -> Answer:
        """Who this is."""
        return Answer.json({"key": self.machine.key.public.hex(), "role": self.machine.role})

    def open_round(self, request: Request) -> Answer:
        """Open."""
        return Answer.json({"key": self.machine.open_round(request.body).hex()})

    def count(self, request: Request) -> Answer:
        """How many."""
        return Answer.json({"reports": self.machine.count(request.name)})

    def close_round(self, request: Request) -> Answer:
        """Close."""
        return Answer(self.machine.close_round(request.name, request.body))

    def release(self, request: Request) -> Answer:
        """Release."""
        return Answer(self.machine.release(request.name, request.body))

    def report(self, request: Request) -> Answer:
        """Take a share."""
        return Answer(self.machine.report(request.body))

    def metrics(self, request: Request) -> Answer:
        """For Prometheus."""
        lines = {
            "murmura_reports_accepted_total": self.machine.accepted,
            "murmura_reports_refused_total": self.machine.refused,
        }
        return Answer(prometheus(lines), TEXT)


def prometheus(values: Mapping[str, float]) -> bytes:
    """Values in the text format of Prometheus."""
    lines = []
    for name, value in values.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        lines.append(f"# TYPE {name} {kind}\n{name} {value}\n")
    return "".join(lines).encode()
