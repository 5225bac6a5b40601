"""Starlette over a desk: a route per row of the endpoint table, limits, events, the loop that moves on."""

from __future__ import annotations

import asyncio
import contextlib
import logging
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
from murmura.web.limits import Rate, Room
from murmura.web.openapi import describe
from murmura.web.page import page

Background = Callable[[], Awaitable[None]]
HEARTBEAT = 15.0  # seconds between signs of life on a stream of events


@dataclass(frozen=True)
class Limits:
    """What one address may ask for, and all of them together."""

    rate: float = 200.0  # requests a second
    burst: float = 2000.0
    bodies: int = 256 << 20  # bytes of all bodies that are being read


def make_app(desk: Desk, limits: Limits, background: Background, tick: float) -> Starlette:
    """The web server of a desk; `background` is called again and again while it runs."""
    rate, bulletin = Rate(limits.rate, limits.burst, time.monotonic), Bulletin(desk)
    room = Room(limits.bodies)
    routes = [_route(desk, endpoint, rate, room, bulletin) for endpoint in desk.endpoints]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_keep_going(background, bulletin, tick))
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    handlers: dict[Any, Any] = {404: _unknown, 405: _method}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


async def _keep_going(background: Background, bulletin: Bulletin, tick: float) -> None:
    while True:
        try:
            await background()
            bulletin.look()
        except Exception:  # whatever it was, the server must go on answering and try again
            logging.getLogger("murmura").exception("the server could not move on")
        await asyncio.sleep(tick)


class Bulletin:
    """What is announced: one look for all who listen."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self.news = desk, ""
        self._changed = asyncio.Event()

    def look(self) -> None:
        """Wake everyone when there is something new."""
        if not isinstance(self._desk, CoordinatorDesk):
            return
        try:
            now = self._desk.machine.manifest()[0].hex()
        except RefusedError as error:
            now = error.code
        if now != self.news:
            self.news = now
            self._changed.set()
            self._changed = asyncio.Event()

    async def stream(self) -> AsyncIterator[bytes]:
        """`round` with the hash of a new manifest, `state` while none is open; now and then a sign of life."""
        last = ""
        yield b": murmura\n\n"
        while True:
            changed = self._changed
            if self.news != last:
                last = self.news
                kind = "state" if last in ("paused", "finished") else "round"
                yield f"event: {kind}\ndata: {last}\n\n".encode()
            else:
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"


def _route(desk: Desk, endpoint: Endpoint, rate: Rate, room: Room, bulletin: Bulletin) -> Route:
    async def handle(incoming: Incoming) -> Response:
        try:
            rate.take(incoming.client.host if incoming.client else "")
            declared = incoming.headers.get("content-length")
            body = await room.read(incoming.stream(), declared, desk.largest(endpoint))
        except RefusedError as error:
            refusal = _response(Answer.refusal(error))
            refusal.headers["connection"] = "close"  # nobody waits for the rest of a body that is refused
            return refusal
        except ClientDisconnect:
            return Response(status_code=400)
        if endpoint.name == "openapi":
            return _response(Answer.json(describe(desk.endpoints)))
        if endpoint.name == "page":
            return page()
        if endpoint.name == "events":
            return StreamingResponse(bulletin.stream(), media_type="text/event-stream")
        headers = {name.lower(): value for name, value in incoming.headers.items()}
        params = {name: str(value) for name, value in incoming.path_params.items()}
        return _response(desk.answer(endpoint, Request(body, params, headers)))

    return Route(endpoint.path, handle, methods=[endpoint.method], name=endpoint.name)


def _response(answer: Answer) -> Response:
    headers = {"x-content-type-options": "nosniff", **answer.headers}
    return Response(answer.body, answer.status, headers, answer.type)


async def _unknown(incoming: Incoming, error: Exception) -> Response:
    return _response(Answer.refusal(RefusedError("unknown", "there is nothing at this address.")))


async def _method(incoming: Incoming, error: Exception) -> Response:
    return _response(Answer.refusal(RefusedError("method", "this address does not take that method.")))
