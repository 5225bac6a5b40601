"""Every address of the coordinator and of an aggregator, once: what it takes, who may ask and what it calls.

Routes, limits and OpenAPI come from here; `dispatch` turns a request into the call a row describes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from murmura.server.aggregator.aggregator import Aggregator
from murmura.server.coordinator.coordinator import Coordinator
from murmura.wire.refusals import RefusedError, json_object, malformed
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

    @property
    def name(self) -> bytes:
        """The hash in the path."""
        return self.hash_of("name")

    def hash_of(self, part: str) -> bytes:
        """The hash in a part of the path."""
        try:
            name = bytes.fromhex(self.params[part])
        except ValueError:
            name = b""
        if len(name) != HASH_BYTES:
            raise malformed("the path must name a hash of 64 hexadecimal digits, but does not.")
        return name


M = TypeVar("M", contravariant=True)
N = TypeVar("N")


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


def _register(coordinator: Coordinator, request: HttpRequest) -> dict[str, Any]:
    fields = "joining takes a JSON object with at most a 'slot', a 'token', an 'admission' and its 'proof'."
    read = json_object(request.body or b"{}", fields)
    if set(read) - {"slot", "token", "admission", "proof"}:
        raise malformed(fields)
    return coordinator.register(read.get("slot"), read.get("token"), read.get("admission"), read.get("proof"))


def _operator(
    name: str, method: Method, path: str, summary: str, call: Callable[[Coordinator, HttpRequest], Any]
) -> Endpoint[Coordinator]:
    """An address that shows nothing and does nothing before it has seen the operator's token."""

    def guarded(coordinator: Coordinator, request: HttpRequest) -> Any:
        coordinator.check_operator(request.token)
        return call(coordinator, request)

    return Endpoint(name, method, path, summary, guarded, guard="operator")


def _read(
    name: str,
    path: str,
    summary: str,
    call: Callable[[N, HttpRequest], Any],
    answers: str = BINARY,
    **more: Any,
) -> Endpoint[N]:
    """What anyone may read, or a device with its token."""
    return Endpoint(name, "GET", path, summary, call, answers, **more)


def _take(
    name: str,
    path: str,
    summary: str,
    call: Callable[[N, HttpRequest], Any],
    largest: int | Callable[[N], int] = SMALL,
    answers: str = BINARY,
    guard: Guard = "none",
    prelude: tuple[int, Callable[[N, HttpRequest], object]] | None = None,
) -> Endpoint[N]:
    """What takes a binary message."""
    return Endpoint(name, "POST", path, summary, call, answers, guard, BINARY, largest, prelude=prelude)


def _signed(
    name: str,
    path: str,
    summary: str,
    call: Callable[[Aggregator, HttpRequest], Any],
    largest: int | Callable[[Aggregator], int] = SMALL,
    answers: str = BINARY,
) -> Endpoint[Aggregator]:
    """What an aggregator does when the coordinator has signed for it."""
    return _take(name, path, summary, call, largest, answers, "coordinator")


SHARED: tuple[Endpoint[Coordinator | Aggregator], ...] = (
    _read("key", "/key", "The public key of this machine.", lambda m, r: m.identity(), JSON),
    _read("healthz", "/healthz", "Whether it works.", lambda m, r: {"ok": True}, JSON),
    _read("metrics", "/metrics", "Counters for Prometheus.", lambda m, r: m.metrics(), TEXT),
    Endpoint("openapi", "GET", "/openapi.json", "This list.", None),
    _take(
        "revoke",
        "/revocations",
        "Invitations that no longer count, signed by the admitter.",
        lambda m, r: {"revoked": m.revoke(r.body)},
        REVOKED_BYTES,
        JSON,
        "admitter",
    ),
)
COORDINATOR: tuple[Endpoint[Coordinator], ...] = (
    _read("about", "/federation", "What anyone may know before joining.", lambda c, r: c.about(), JSON),
    Endpoint(
        "register",
        "POST",
        "/devices",
        "Join: a random token.",
        _register,
        takes=JSON,
        largest=SMALL,
        rate="registrations",
    ),
    _read(
        "terms",
        "/terms",
        "What the federation is, signed by its three machines.",
        lambda c, r: c.terms(),
        cache=ASK_AGAIN,
    ),
    _read("log_head", "/log", "The newest signed head of the log.", lambda c, r: c.log_head()),
    _read(
        "newest_model",
        "/model",
        "The newest model's entry in the log, and the proof that it is there.",
        lambda c, r: c.newest_model(),
        cache=ASK_AGAIN,
    ),
    _read(
        "log_entries",
        "/log/entries/{start}",
        "Entries of the public log from a place on.",
        lambda c, r: c.log_entries(r.params["start"]),
    ),
    _read(
        "log_consistency",
        "/log/consistency/{first}/{size}",
        "The proof that the log of one size begins with the log of another.",
        lambda c, r: c.log_consistency(r.params["first"], r.params["size"]),
        cache=IMMUTABLE,
    ),
    Endpoint(
        "leave",
        "DELETE",
        "/devices/me",
        "Leave: the token is forgotten.",
        lambda c, r: c.leave(r.token),
        guard="device",
    ),
    _read(
        "round",
        "/round",
        "The signed manifest of the open round; has an ETag.",
        lambda c, r: c.manifest(),
        cache=ASK_AGAIN,
        tagged=True,
    ),
    _read(
        "last",
        "/round/last",
        "The signed manifest of the last round that was completed.",
        lambda c, r: c.last_manifest(),
        cache=ASK_AGAIN,
    ),
    _read("events", "/events", "Says when there is a new manifest.", lambda c, r: c.news(), EVENTS),
    _read(
        "blob",
        "/m/{name}",
        "A public model or the description, by its SHA-256.",
        lambda c, r: c.blob(r.name),
        cache=IMMUTABLE,
    ),
    _read(
        "since",
        "/m/{name}/since/{base}",
        "The public model, for who has an earlier one: what changed, or the whole.",
        lambda c, r: c.since(r.name, r.hash_of("base")),
        cache=IMMUTABLE,
    ),
    _take(
        "ticket",
        "/tickets",
        "Admission of one report to the open round.",
        lambda c, r: c.ticket(r.token, r.body),
        guard="device",
    ),
    _take(
        "letter",
        "/letters",
        "An update, in readable mode only: the server can read each update.",
        lambda c, r: c.rounds.take_individual_report(r.content),
        lambda c: c.rounds.individual_report_bytes,
        prelude=(REPORT_HEADER, lambda c, r: c.rounds.check_individual_report(r.body)),
    ),
    _read(
        "answer_of",
        "/answer",
        "What the last exchange told this device alone.",
        lambda c, r: c.answer(r.token),
        guard="device",
    ),
    _operator("status", "GET", "/status", "Where the federation stands.", lambda c, r: c.status()),
    _operator("history", "GET", "/rounds", "The last rounds.", lambda c, r: {"rounds": c.history()}),
    _operator("remove", "DELETE", "/devices/{slot}", "Free a place.", lambda c, r: c.remove(r.params["slot"])),
    _operator(
        "rollback",
        "POST",
        "/rollback/{done}",
        "Go back to the model after so many rounds.",
        lambda c, r: c.rollback(r.params["done"]),
    ),
    _operator(
        "order",
        "POST",
        "/orders/{what}",
        "start, pause, stop or renew.",
        lambda c, r: c.order(r.params["what"]),
    ),
    Endpoint("operator", "GET", "/operator", "The operator's page; it asks for the token.", None, HTML),
    *SHARED,
)
AGGREGATOR: tuple[Endpoint[Aggregator], ...] = (
    _signed(
        "agree",
        "/terms",
        "Signed terms: agree to them.",
        lambda a, r: a.agreement.agree(r.body),
        MANIFEST_BYTES,
        JSON,
    ),
    _take(
        "describe",
        "/m/{name}",
        "The description that the terms name.",
        lambda a, r: {"taken": a.agreement.take_description(r.name, r.body)},
        lambda a: a.agreement.description_bytes,
        JSON,
    ),
    _read(
        "log_size",
        "/log",
        "How many entries of the log are known here.",
        lambda a, r: {"size": len(a.witness.tree)},
        JSON,
    ),
    _signed(
        "append_log",
        "/log",
        "New entries of the log: the signature of its head.",
        lambda a, r: a.append_log(r.body),
        LOG_BYTES,
    ),
    _signed(
        "open_round",
        "/rounds",
        "A signed manifest: open it, and sign it.",
        lambda a, r: a.open_round(r.body),
        lambda a: a.opening_bytes,
    ),
    _read(
        "count",
        "/rounds/{name}",
        "How many reports have arrived.",
        lambda a, r: {"reports": a.count(r.name)},
        JSON,
    ),
    _signed(
        "close_round", "/rounds/{name}/close", "Stop collecting.", lambda a, r: a.close_round(r.name, r.body)
    ),
    _signed(
        "release",
        "/rounds/{name}/release",
        "The sum over the agreed list.",
        lambda a, r: a.release(r.name, r.body),
        lambda a: a.release_bytes,
    ),
    _signed(
        "forget",
        "/rounds/{name}/forget",
        "The sum is committed: forget which reports it is of.",
        lambda a, r: {"forgotten": a.forget(r.name, r.body)},
        answers=JSON,
    ),
    _take(
        "report",
        UPLOADS,
        "One share of a report.",
        lambda a, r: a.report(r.content),
        lambda a: a.share_bytes,
        prelude=(SHARE_PRELUDE, lambda a, r: a.admit(r.body)),
    ),
    Endpoint(
        "preflight", "OPTIONS", UPLOADS, "A browser asks whether its page may send shares here.", None, TEXT
    ),
    *SHARED,
)
