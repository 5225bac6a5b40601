"""Starlette over a machine: a route per row of the endpoint table, and the loop that moves on.

How much one address may ask for is limited (`web.limits`), and a body is checked by its first bytes before the
rest is read. The stream of events looks once at what is new for all who listen. The OpenAPI description of a
machine comes from the same table as its routes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Incoming
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from murmura.core.version import __version__
from murmura.runtimes.http import dispatch
from murmura.runtimes.http.dispatch import Table, event
from murmura.runtimes.http.endpoints import EVENTS, Endpoint, HttpRequest
from murmura.runtimes.http.protocol.refusals import STATUS, RefusedError
from murmura.runtimes.http.protocol.transport import HttpReply
from murmura.web.limits import BodyBudget, First, Places, RateLimiter, RequestLimits, origin

GUARDS = {"device": "the device's token", "operator": "the operator's token"}
HEARTBEAT = 15.0  # seconds between signs of life on a stream of events
PIECE = 64 << 10  # bytes of a reply that are written at once: who does not read holds no more of it in memory
M = TypeVar("M")
Background = Callable[[], Awaitable[None]]
Handler = Callable[[Incoming, bytes], Response]
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


def describe(endpoints: tuple[Endpoint[Any], ...]) -> dict[str, Any]:
    """OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    refusal = {
        "type": "object",
        "required": ["error", "message"],
        "properties": {"error": {"enum": sorted(STATUS)}, "message": {"type": "string"}},
    }
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Murmura",
            "version": __version__,
            "description": "The messages are described in docs/wire.md.",
        },
        "paths": paths,
        "components": {"schemas": {"Refusal": refusal}, "securitySchemes": {"token": bearer}},
    }


def _operation(endpoint: Endpoint[Any]) -> dict[str, Any]:
    no = {"description": "A typed refusal.", "content": {"application/json": {"schema": _REFUSAL}}}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": {
            "200": {"description": "Done.", "content": {endpoint.answers: {}}},
            "4XX": no,
            "503": no,
        },
    }
    names = re.findall(r"{(\w+)}", endpoint.path)
    if names:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if endpoint.takes:
        operation["requestBody"] = {"required": True, "content": {endpoint.takes: {}}}
    if endpoint.guard in GUARDS:
        operation["security"] = [{"token": []}]
        operation["description"] = f"Needs {GUARDS[endpoint.guard]}."
    elif endpoint.guard == "coordinator":
        operation["description"] = "The body carries the coordinator's signature."
    return operation


_REFUSAL = {"$ref": "#/components/schemas/Refusal"}


class EventStream:
    """What is announced: `news` is asked once for all who listen, who are as many as there are places."""

    def __init__(self, news: Callable[[], str], places: Places) -> None:
        self._news, self._places, self._last = news, places, ""
        self._changed = asyncio.Event()

    def look(self) -> None:
        """Wake everyone when there is something new."""
        now = self._news()
        if now != self._last:
            self._last = now
            self._changed.set()
            self._changed = asyncio.Event()

    def response(self, address: str) -> StreamingResponse:
        """The stream for one who listens; refused to an address that has enough of them."""
        if not self._places.enter(address):
            raise RefusedError("rate", "too many listen here already; ask for the round instead.")
        return _Listener(self.stream(), partial(self._places.leave, address))

    async def stream(self) -> AsyncIterator[bytes]:
        """An event for all that is new; now and then a sign of life."""
        last = ""
        yield b": murmura\n\n"
        while True:
            changed = self._changed
            if self._last != last:
                last = self._last
                yield event(last)
            else:
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"


class _Listener(StreamingResponse):
    """A stream that gives its place back at its end."""

    def __init__(self, stream: AsyncIterator[bytes], leave: Callable[[], None]) -> None:
        super().__init__(stream, media_type=EVENTS)
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


class _Pieces(Response):
    """A long reply, written as it is read."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for at in range(0, len(self.body), PIECE):
            more = at + PIECE < len(self.body)
            piece = bytes(self.body[at : at + PIECE])
            await send({"type": "http.response.body", "body": piece, "more_body": more})


class _Admission:
    """What a request must pass before a machine hears of it."""

    def __init__(self, limits: RequestLimits, clock: Callable[[], float]) -> None:
        self._rates = {
            "requests": RateLimiter(limits.rate, limits.burst, clock),
            "registrations": RateLimiter(
                limits.registrations, limits.registration_burst, clock, "registrations"
            ),
        }
        self._bodies = BodyBudget(limits.bodies)

    async def body(self, machine: M, endpoint: Endpoint[M], incoming: Incoming) -> bytes:
        """The body of a request; refuses one that is too much."""
        address, headers = address_of(incoming), incoming.headers
        self._rates["requests"].take(address)
        if endpoint.rate != "requests":
            self._rates[endpoint.rate].take(address)
        declared = headers.get("content-length")
        if declared is None and "transfer-encoding" not in headers:
            return b""
        first: First | None = None
        if endpoint.prelude is not None:
            check = partial(dispatch.check_prelude, machine, endpoint)
            first = endpoint.prelude[0], lambda known: check(_request(incoming, known))
        return await self._bodies.read(incoming.stream(), address, declared, endpoint.limit(machine), first)


def make_app(
    machine: M, table: Table[M], limits: RequestLimits, background: Background, tick: float
) -> Starlette:
    """The web server of a machine; `background` is called again and again while it runs."""
    admission, listeners = _Admission(limits, time.monotonic), Places(limits.streams, limits.streams_each)
    bulletins = {
        endpoint.name: EventStream(partial(endpoint.call, machine, HttpRequest()), listeners)
        for endpoint in table
        if endpoint.answers == EVENTS and endpoint.call is not None
    }

    def handler(endpoint: Endpoint[M]) -> Handler:
        if endpoint.name in bulletins:
            return lambda incoming, body: bulletins[endpoint.name].response(address_of(incoming))
        if endpoint.call is not None:
            return partial(_answer, machine, endpoint)
        if endpoint.name == "page":
            return lambda incoming, body: page()
        return lambda incoming, body: _response(dispatch.reply(endpoint, describe(table)))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_keep_going(background, bulletins.values(), tick))
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    routes = [_route(one, handler(one), partial(admission.body, machine, one)) for one in table]
    unrouted: dict[Any, Any] = {404: partial(_unrouted, "unknown"), 405: partial(_unrouted, "method")}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=unrouted)


async def _keep_going(background: Background, bulletins: Iterable[EventStream], tick: float) -> None:
    while True:
        try:
            await background()
            for events in bulletins:
                events.look()
        except Exception:  # whatever it was, the server must go on answering and try again
            logging.getLogger("murmura").exception("the server could not move on")
        await asyncio.sleep(tick)


def _route(endpoint: Endpoint[Any], handler: Handler, read: Callable[[Incoming], Awaitable[bytes]]) -> Route:
    async def handle(incoming: Incoming) -> Response:
        try:
            return handler(incoming, await read(incoming))
        except RefusedError as error:
            refusal = _response(dispatch.refusal(error))
            refusal.headers["connection"] = "close"  # nobody waits for the rest of a body that is refused
            return refusal
        except ClientDisconnect:
            return Response(status_code=400)

    return Route(endpoint.path, handle, methods=[endpoint.method], name=endpoint.name)


def address_of(incoming: Incoming) -> str:
    """Whom a request counts for."""
    return origin(incoming.client.host if incoming.client else "")


def _request(incoming: Incoming, body: bytes) -> HttpRequest:
    headers = {name.lower(): value for name, value in incoming.headers.items()}
    return HttpRequest(body, {name: str(value) for name, value in incoming.path_params.items()}, headers)


def _answer(machine: M, endpoint: Endpoint[M], incoming: Incoming, body: bytes) -> Response:
    return _response(dispatch.answer(machine, endpoint, _request(incoming, body)))


def _response(reply: HttpReply) -> Response:
    headers = {"x-content-type-options": "nosniff", **reply.headers}
    kind = _Pieces if len(reply.body) > PIECE else Response
    return kind(reply.body, reply.status, media_type=headers.pop("content-type"), headers=headers)


async def _unrouted(code: str, incoming: Incoming, error: Exception) -> Response:
    return _response(dispatch.refusal(dispatch.unrouted(code)))


def page() -> Response:
    """One HTML file without outside parts."""
    content = (files("murmura.web") / "status.html").read_bytes()
    headers = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", "cache-control": "no-cache"}
    return Response(content, headers=headers, media_type="text/html")
