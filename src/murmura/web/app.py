"""Starlette over a machine: a route per row of the endpoint table, limits, and the loop that moves on."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Incoming
from starlette.responses import Response
from starlette.routing import Route

from murmura.runtimes.http import dispatch
from murmura.runtimes.http.dispatch import Table
from murmura.runtimes.http.endpoints import EVENTS, Endpoint, HttpRequest
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import HttpReply
from murmura.web.events import EventStream
from murmura.web.limits import BodyBudget, RateLimiter
from murmura.web.openapi import describe

M = TypeVar("M")
Background = Callable[[], Awaitable[None]]
Handler = Callable[[Incoming, bytes], Response]
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


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
