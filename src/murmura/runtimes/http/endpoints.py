"""Every address of the coordinator and of an aggregator, once: routes, limits and OpenAPI come from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Guard = Literal["none", "device", "operator", "coordinator"]
BINARY, JSON, TEXT, HTML, EVENTS = (
    "application/octet-stream",
    "application/json",
    "text/plain",
    "text/html",
    "text/event-stream",
)
SMALL = 4096  # bytes of a body that has no exact length
ROUND_BYTES = 64 << 20  # of a signed manifest with the description of a large catalogue


@dataclass(frozen=True)
class Endpoint:
    """One address."""

    name: str  # of the function that answers
    method: Literal["GET", "POST", "DELETE"]
    path: str
    summary: str
    answers: str = JSON
    guard: Guard = "none"  # whose token or signature it takes
    takes: str = ""  # the type of its body, "" for none
    largest: int = 0  # bytes of its body


SHARED = (
    Endpoint("key", "GET", "/key", "The public key of this machine."),
    Endpoint("healthz", "GET", "/healthz", "Whether it works."),
    Endpoint("metrics", "GET", "/metrics", "Counters for Prometheus.", TEXT),
    Endpoint("openapi", "GET", "/openapi.json", "This list."),
)
COORDINATOR = (
    Endpoint("about", "GET", "/federation", "What anyone may know before joining."),
    Endpoint("register", "POST", "/devices", "Join: a random token.", takes=JSON, largest=SMALL),
    Endpoint("leave", "DELETE", "/devices/me", "Leave: the token is forgotten.", guard="device"),
    Endpoint("round", "GET", "/round", "The signed manifest of the open round; has an ETag.", BINARY),
    Endpoint("last", "GET", "/round/last", "The signed manifest of the last round that was completed.", BINARY),
    Endpoint("events", "GET", "/events", "Says when there is a new manifest.", EVENTS),
    Endpoint("blob", "GET", "/m/{name}", "A public model or the description, by its SHA-256.", BINARY),
    Endpoint(
        "ticket",
        "POST",
        "/tickets",
        "Admission of one report to the open round.",
        BINARY,
        "device",
        BINARY,
        SMALL,
    ),
    Endpoint(
        "letter",
        "POST",
        "/letters",
        "An update, in readable mode only: the server can read each update.",
        BINARY,
        takes=BINARY,
        largest=ROUND_BYTES,
    ),
    Endpoint("answer_of", "GET", "/answer", "What the last exchange told this device alone.", BINARY, "device"),
    Endpoint("status", "GET", "/status", "Where the federation stands.", JSON, "operator"),
    Endpoint("history", "GET", "/rounds", "The last rounds.", JSON, "operator"),
    Endpoint("order", "POST", "/orders/{what}", "start, pause or stop.", JSON, "operator"),
    Endpoint("page", "GET", "/", "The operator's page; it asks for the token.", HTML),
    *SHARED,
)
AGGREGATOR = (
    Endpoint(
        "open_round", "POST", "/rounds", "A signed manifest: open it.", JSON, "coordinator", BINARY, ROUND_BYTES
    ),
    Endpoint("count", "GET", "/rounds/{name}", "How many reports have arrived."),
    Endpoint(
        "close_round", "POST", "/rounds/{name}/close", "Stop collecting.", BINARY, "coordinator", BINARY, SMALL
    ),
    Endpoint(
        "release",
        "POST",
        "/rounds/{name}/release",
        "The sum over the agreed list.",
        BINARY,
        "coordinator",
        BINARY,
        ROUND_BYTES,
    ),
    Endpoint("report", "POST", "/reports", "One share of a report.", BINARY, takes=BINARY, largest=ROUND_BYTES),
    *SHARED,
)
