"""Starlette over a desk: a route per row of the endpoint table, limits, events, the loop that moves on."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Incoming
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from murmura.runtimes.http.desks import Answer, CoordinatorDesk, Desk, Request
from murmura.runtimes.http.endpoints import Endpoint
from murmura.runtimes.http.refusals import RefusedError
from murmura.web.limits import Rate, read_body
from murmura.web.openapi import describe
from murmura.web.page import page

Background = Callable[[], Awaitable[None]]
HEARTBEAT = 15.0  # seconds between signs of life on a stream of events
EVERY = 0.05  # seconds between looks for something new to announce


@dataclass(frozen=True)
class Limits:
    """What one address may ask for."""

    rate: float = 200.0  # requests a second
    burst: float = 2000.0


def make_app(desk: Desk, limits: Limits, background: Background, tick: float) -> Starlette:
    """The web server of a desk; `background` is called again and again while it runs."""
    rate = Rate(limits.rate, limits.burst, time.monotonic)
    routes = [_route(desk, endpoint, rate) for endpoint in desk.endpoints]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_keep_going(background, tick))
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    handlers: dict[Any, Any] = {404: _unknown, 405: _method}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


async def _keep_going(background: Background, tick: float) -> None:
    while True:
        await background()
        await asyncio.sleep(tick)


def _route(desk: Desk, endpoint: Endpoint, rate: Rate) -> Route:
    async def handle(incoming: Incoming) -> Response:
        try:
            rate.take(incoming.client.host if incoming.client else "")
            declared = incoming.headers.get("content-length")
            body = await read_body(incoming.stream(), declared, desk.largest(endpoint))
        except RefusedError as error:
            return _response(Answer.refusal(error))
        except ClientDisconnect:
            return Response(status_code=400)
        if endpoint.name == "openapi":
            return _response(Answer.json(describe(desk.endpoints)))
        if endpoint.name == "page":
            return page()
        if endpoint.name == "events":
            assert isinstance(desk, CoordinatorDesk)
            return StreamingResponse(_events(desk), media_type="text/event-stream")
        headers = {name.lower(): value for name, value in incoming.headers.items()}
        params = {name: str(value) for name, value in incoming.path_params.items()}
        return _response(desk.answer(endpoint, Request(body, params, headers)))

    return Route(endpoint.path, handle, methods=[endpoint.method], name=endpoint.name)


async def _events(desk: CoordinatorDesk) -> AsyncIterator[bytes]:
    """`round` with the hash of every new manifest, `state` while none is open; now and then a sign of life."""
    last, silent = "", 0.0
    yield b": murmura\n\n"
    while True:
        try:
            now = desk.machine.manifest()[0].hex()
        except RefusedError as error:
            now = error.code
        if now != last:
            kind = "round" if now not in ("paused", "finished") else "state"
            yield f"event: {kind}\ndata: {now}\n\n".encode()
            last, silent = now, 0.0
        elif silent > HEARTBEAT:
            yield b": still here\n\n"
            silent = 0.0
        await asyncio.sleep(EVERY)
        silent += EVERY


def _response(answer: Answer) -> Response:
    headers = {"x-content-type-options": "nosniff", **answer.headers}
    return Response(answer.body, answer.status, headers, answer.type)


async def _unknown(incoming: Incoming, error: Exception) -> Response:
    return _response(Answer.refusal(RefusedError("unknown", "there is nothing at this address.")))


async def _method(incoming: Incoming, error: Exception) -> Response:
    return _response(Answer.refusal(RefusedError("method", "this address does not take that method.")))
