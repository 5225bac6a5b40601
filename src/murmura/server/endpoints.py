"""Every address of the coordinator and of an aggregator, once: what it takes, who may ask and what it calls.

Routes, limits and OpenAPI come from here; `dispatch` turns a request into the call a row describes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, Generic, Literal, TypeVar, cast

from murmura.server.aggregator.aggregator import Aggregator
from murmura.server.aggregator.commitments import Agreement, LogWitness
from murmura.server.coordinator.agreement import TermsKeeper
from murmura.server.coordinator.coordinator import Coordinator
from murmura.server.coordinator.rounds import RoundRunner
from murmura.wire.refusals import RefusedError, malformed
from murmura.wire.wire import HASH_BYTES, REPORT_HEADER, SHARE_PRELUDE

Method = Literal["GET", "POST", "DELETE", "OPTIONS"]
Guard = Literal["none", "device", "operator", "coordinator", "admitter"]
Rate = Literal["requests", "registrations"]  # which requests of an address are counted together
BINARY, JSON, TEXT, HTML, EVENTS = (
    "application/octet-stream",
    "application/json",
    "text/plain",
    "text/html",
    "text/event-stream",
)
SMALL = 4096  # bytes of a body that has no exact length
MANIFEST_BYTES = 1 << 17  # of a signed manifest or of signed terms
LOG_BYTES = 1 << 20  # of entries of the log that come at once
REVOKED_BYTES = 1 << 16
HASHES = ("name", "base")  # parts of paths that name what is published, or a round
UPLOADS = "/reports"  # where an aggregator takes shares
ASK_AGAIN, IMMUTABLE = "no-cache", "public, max-age=31536000, immutable"  # how long an answer may be kept


@dataclass(frozen=True)
class HttpRequest:
    """What came in."""

    content: bytes | bytearray = b""  # as it was received
    params: Mapping[str, str] = field(default_factory=dict)  # from the path
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case

    @property
    def body(self) -> bytes:
        """The body, which nobody changes; a copy of what was not received as such."""
        return bytes(self.content)

    @property
    def token(self) -> str:
        """The bearer's token; refuses a request without one."""
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise RefusedError("unauthorised", "this needs a token, but the request shows none.")
        return token

    def part(self, what: str) -> Any:
        """Its token, its body, or what a part of the path says; refuses a name that is no hash."""
        if what in ("token", "body", "content"):
            return getattr(self, what)
        if what not in HASHES:
            return self.params[what]
        try:
            name = bytes.fromhex(self.params[what])
        except ValueError:
            name = b""
        if len(name) != HASH_BYTES:
            raise malformed("the path must name a hash of 64 hexadecimal digits, but does not.")
        return name


M = TypeVar("M", contravariant=True)


@dataclass(frozen=True)
class Endpoint(Generic[M]):
    """One address of a machine."""

    name: str
    method: Method
    path: str
    summary: str
    call: Callable[[M, HttpRequest], Any] | None  # None: the web server answers it by itself
    answers: str = JSON  # the type of what the call returns
    guard: Guard = "none"  # whose token or signature it takes
    takes: str = ""  # the type of its body, "" for none
    largest: int | Callable[[M], int] = 0  # bytes of its body
    cache: str = ""  # how long its answer may be kept, "" for unsaid
    tagged: bool = False  # the call returns a hash too: whoever knows the hash gets nothing else
    rate: Rate = "requests"
    # (bytes, check): once so many bytes of a body are there, the check, which sees only these, refuses the
    # request or lets the rest be read; the call checks again, and is alone with a shorter body
    prelude: tuple[int, Callable[[M, HttpRequest], object]] | None = None

    def __post_init__(self) -> None:
        if self.prelude is not None and not 0 < self.prelude[0] <= SMALL:
            raise ValueError(f"{self.name} must be checked by 1 to {SMALL} bytes, not by {self.prelude[0]}.")

    def limit(self, machine: M) -> int:
        """How many bytes of a body are read."""
        return self.largest if isinstance(self.largest, int) else self.largest(machine)


def _row(
    address: str, call: Callable[..., Any], *taken: str, of: str = "", named: str = "", **more: Any
) -> Endpoint[Any]:
    """The row of a method, whose first sentence says what it is for; `address`: its name, "GET", its path.

    It takes what the path names, then `taken` of the request. `of` says whose method it is, where it is not the
    machine's own, and `named` what its result is called in a JSON object.
    """
    name, method, path = address.split()
    own = attrgetter(".".join(filter(None, (of, call.__name__))))
    parts = (*re.findall(r"{(\w+)}", path), *taken)
    kinds: dict[str, Any] = {"answers": BINARY if "bytes" in call.__annotations__["return"] else JSON}
    if "token" in taken:
        kinds["guard"] = "device"
    if taken and taken[-1] in ("body", "content"):
        kinds |= {"takes": BINARY, "largest": SMALL}

    def called(machine: Any, request: HttpRequest) -> Any:
        if more.get("guard") == "operator":
            machine.check_operator(request.token)
        result = own(machine)(*(request.part(one) for one in parts))
        return {named: result} if named else result

    summary = (call.__doc__ or "").partition("\n")[0]
    return Endpoint(name, cast("Method", method), path, summary, called, **kinds | more)


_operator = partial(_row, guard="operator")  # nothing is shown or done before its token was seen
_signed = partial(_row, guard="coordinator")  # what an aggregator does when the coordinator has signed for it
SHARED: tuple[Endpoint[Coordinator | Aggregator], ...] = (
    Endpoint("key", "GET", "/key", "The public key of this machine.", lambda m, r: m.identity()),
    Endpoint("healthz", "GET", "/healthz", "Whether it works.", lambda m, r: {"ok": True}),
    Endpoint("metrics", "GET", "/metrics", "Counters for Prometheus.", lambda m, r: m.metrics(), TEXT),
    Endpoint("openapi", "GET", "/openapi.json", "This list.", None),
    _row(
        "revoke POST /revocations",
        Coordinator.revoke,
        "body",
        named="revoked",
        largest=REVOKED_BYTES,
        guard="admitter",
    ),
)
COORDINATOR: tuple[Endpoint[Coordinator], ...] = (
    _row("about GET /federation", Coordinator.about),
    _row("register POST /devices", Coordinator.join, "body", takes=JSON, rate="registrations"),
    _row("terms GET /terms", TermsKeeper.signed, of="rounds.keeper", cache=ASK_AGAIN),
    _row("log_head GET /log", Coordinator.log_head),
    _row("newest_model GET /model", Coordinator.newest_model, cache=ASK_AGAIN),
    _row("log_entries GET /log/entries/{start}", Coordinator.log_entries),
    _row("log_consistency GET /log/consistency/{first}/{size}", Coordinator.log_consistency, cache=IMMUTABLE),
    _row("leave DELETE /devices/me", Coordinator.leave, "token"),
    _row("round GET /round", Coordinator.manifest, cache=ASK_AGAIN, tagged=True),
    _row("last GET /round/last", Coordinator.last_manifest, cache=ASK_AGAIN),
    _row("events GET /events", Coordinator.news, answers=EVENTS),
    _row("blob GET /m/{name}", Coordinator.blob, cache=IMMUTABLE),
    _row("since GET /m/{name}/since/{base}", Coordinator.since, cache=IMMUTABLE),
    _row("ticket POST /tickets", Coordinator.ticket, "token", "body"),
    _row(
        "letter POST /letters",
        RoundRunner.take_individual_report,
        "content",
        of="rounds",
        largest=lambda c: c.rounds.individual_report_bytes,
        prelude=(REPORT_HEADER, lambda c, r: c.rounds.check_individual_report(r.body)),
    ),
    _row("answer_of GET /answer", Coordinator.answer, "token"),
    _operator("status GET /status", Coordinator.status),
    _operator("history GET /rounds", Coordinator.history, named="rounds"),
    _operator("remove DELETE /devices/{slot}", Coordinator.remove),
    _operator("rollback POST /rollback/{done}", Coordinator.rollback),
    _operator("order POST /orders/{what}", Coordinator.order),
    Endpoint("operator", "GET", "/operator", "The operator's page; it asks for the token.", None, HTML),
    *SHARED,
)
AGGREGATOR: tuple[Endpoint[Aggregator], ...] = (
    _signed("agree POST /terms", Agreement.agree, "body", of="agreement", largest=MANIFEST_BYTES),
    _row(
        "describe POST /m/{name}",
        Agreement.take_description,
        "body",
        of="agreement",
        named="taken",
        largest=lambda a: a.agreement.description_bytes,
    ),
    _row("log_size GET /log", LogWitness.known, of="witness"),
    _row("log_entries GET /log/entries/{start}", LogWitness.shown, of="witness"),
    _signed("revocations POST /revocations/known", Aggregator.revocations, "body"),
    _signed("append_log POST /log", Aggregator.append_log, "body", largest=LOG_BYTES),
    _signed("open_round POST /rounds", Aggregator.open_round, "body", largest=lambda a: a.opening_bytes),
    _row("count GET /rounds/{name}", Aggregator.count, named="reports"),
    _signed("close_round POST /rounds/{name}/close", Aggregator.close_round, "body"),
    _signed(
        "release POST /rounds/{name}/release", Aggregator.release, "body", largest=lambda a: a.release_bytes
    ),
    _signed("forget POST /rounds/{name}/forget", Aggregator.forget, "body", named="forgotten"),
    _row(
        f"report POST {UPLOADS}",
        Aggregator.report,
        "content",
        largest=lambda a: a.share_bytes,
        prelude=(SHARE_PRELUDE, lambda a, r: a.admit(r.body)),
    ),
    Endpoint(
        "preflight", "OPTIONS", UPLOADS, "A browser asks whether its page may send shares here.", None, TEXT
    ),
    *SHARED,
)
