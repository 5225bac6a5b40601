"""Starlette over a machine: a route per row of the endpoint table, and the loop that moves on.

How much one address may ask for is limited: a token bucket each, and bodies that are never read beyond their
limit. The stream of events looks once at what is new for all who listen. The OpenAPI description of a machine
comes from the same table as its routes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Incoming
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from murmura.core.version import __version__
from murmura.runtimes.http import dispatch
from murmura.runtimes.http.dispatch import Table, check_size, event
from murmura.runtimes.http.endpoints import EVENTS, Endpoint, HttpRequest
from murmura.runtimes.http.protocol.refusals import STATUS, RefusedError
from murmura.runtimes.http.protocol.transport import HttpReply

GUARDS = {"device": "the device's token", "operator": "the operator's token"}
HEARTBEAT = 15.0  # seconds between signs of life on a stream of events
ADDRESSES = 10_000  # remembered at a time; the longest silent is forgotten first
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
    """What is announced: `news` is asked once for all who listen."""

    def __init__(self, news: Callable[[], str]) -> None:
        self._news, self._last = news, ""
        self._changed = asyncio.Event()

    def look(self) -> None:
        """Wake everyone when there is something new."""
        now = self._news()
        if now != self._last:
            self._last = now
            self._changed.set()
            self._changed = asyncio.Event()

    def response(self) -> StreamingResponse:
        """The stream for one who listens."""
        return StreamingResponse(self.stream(), media_type=EVENTS)

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


class RateLimiter:
    """`rate` requests a second for each address, saved up to `burst`."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str) -> None:
        """Count one request; refuses it when the address asks too often."""
        now = self._clock()
        left, before = self._buckets.pop(address, (self._burst, now))
        left = min(self._burst, left + (now - before) * self._rate)
        self._buckets[address] = (left - 1.0 if left >= 1.0 else left, now)
        if len(self._buckets) > ADDRESSES:
            self._buckets.popitem(last=False)
        if left < 1.0:
            raise RefusedError(
                "rate", f"at most {self._rate:g} requests a second are answered; try again later."
            )


class BodyBudget:
    """The memory all bodies that are being read may take together."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0

    async def read(self, stream: AsyncIterator[bytes], declared: str | None, largest: int) -> bytes:
        """The body, as long as it keeps its limit; a longer one is refused before it is held in memory."""
        if declared is not None:
            check_size(int(declared) if declared.isascii() and declared.isdigit() else largest + 1, largest)
        parts, length = [], 0
        try:
            async for part in stream:
                length += len(part)
                self._held += len(part)
                check_size(length, largest)
                if self._held > self._most:
                    raise RefusedError("rate", "too much is being sent here at once; try again later.")
                parts.append(part)
        finally:
            self._held -= length
        return b"".join(parts)


@dataclass(frozen=True)
class RequestLimits:
    """What one address may ask for, and all of them together."""

    rate: float = 200.0  # requests a second
    burst: float = 2000.0
    bodies: int = 256 << 20  # bytes of all bodies that are being read


def make_app(
    machine: M, table: Table[M], limits: RequestLimits, background: Background, tick: float
) -> Starlette:
    """The web server of a machine; `background` is called again and again while it runs."""
    rate, room = RateLimiter(limits.rate, limits.burst, time.monotonic), BodyBudget(limits.bodies)
    bulletins = {
        endpoint.name: EventStream(partial(endpoint.call, machine, HttpRequest()))
        for endpoint in table
        if endpoint.answers == EVENTS and endpoint.call is not None
    }

    def handler(endpoint: Endpoint[M]) -> Handler:
        if endpoint.name in bulletins:
            return lambda incoming, body: bulletins[endpoint.name].response()
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

    routes = [_route(one, handler(one), partial(one.limit, machine), rate, room) for one in table]
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


def _route(
    endpoint: Endpoint[Any], handler: Handler, limit: Callable[[], int], rate: RateLimiter, room: BodyBudget
) -> Route:
    async def handle(incoming: Incoming) -> Response:
        try:
            rate.take(incoming.client.host if incoming.client else "")
            declared = incoming.headers.get("content-length")
            body = await room.read(incoming.stream(), declared, limit())
        except RefusedError as error:
            refusal = _response(dispatch.refusal(error))
            refusal.headers["connection"] = "close"  # nobody waits for the rest of a body that is refused
            return refusal
        except ClientDisconnect:
            return Response(status_code=400)
        return handler(incoming, body)

    return Route(endpoint.path, handle, methods=[endpoint.method], name=endpoint.name)


def _answer(machine: M, endpoint: Endpoint[M], incoming: Incoming, body: bytes) -> Response:
    headers = {name.lower(): value for name, value in incoming.headers.items()}
    params = {name: str(value) for name, value in incoming.path_params.items()}
    return _response(dispatch.answer(machine, endpoint, HttpRequest(body, params, headers)))


def _response(reply: HttpReply) -> Response:
    headers = {"x-content-type-options": "nosniff", **reply.headers}
    return Response(reply.body, reply.status, media_type=headers.pop("content-type"), headers=headers)


async def _unrouted(code: str, incoming: Incoming, error: Exception) -> Response:
    return _response(dispatch.refusal(dispatch.unrouted(code)))


def page() -> Response:
    """One HTML file without outside parts."""
    content = (files("murmura.web") / "status.html").read_bytes()
    headers = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", "cache-control": "no-cache"}
    return Response(content, headers=headers, media_type="text/html")
