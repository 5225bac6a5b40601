"""A machine on the web: a request finds its row in the endpoint table; and the loop that moves on.

How much one address may ask for is limited (`web.limits`), and a body is checked by its first bytes before the
rest is read. There is no web framework between: what it would do for every request costs more than most rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import Generic, TypeVar

from murmura.runtimes.http import dispatch
from murmura.runtimes.http.dispatch import Table
from murmura.runtimes.http.endpoints import EVENTS, HTML, Endpoint, HttpRequest
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import HttpReply
from murmura.web.asgi import DisconnectedError, Receive, Scope, Send, parts, write
from murmura.web.events import EventStream
from murmura.web.limits import BodyBudget, First, Places, RateLimiter, RequestLimits, origin
from murmura.web.openapi import describe

M = TypeVar("M")
Background = Callable[[], Awaitable[float | None]]  # how long it need not be called again, if it knows
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"


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

    async def body(
        self, machine: M, endpoint: Endpoint[M], head: HttpRequest, address: str, receive: Receive
    ) -> bytes:
        """The body of a request; refuses one that is too much."""
        self._rates["requests"].take(address)
        if endpoint.rate != "requests":
            self._rates[endpoint.rate].take(address)
        declared = head.headers.get("content-length")
        if declared is None and "transfer-encoding" not in head.headers:
            return b""
        first: First | None = None
        if endpoint.prelude is not None:
            check = partial(dispatch.check_prelude, machine, endpoint)
            first = endpoint.prelude[0], lambda known: check(replace(head, body=known))
        return await self._bodies.read(parts(receive), address, declared, endpoint.limit(machine), first)


class App(Generic[M]):
    """The web server of a machine, as uvicorn calls it (ASGI); `background` runs again and again beside it."""

    def __init__(
        self, machine: M, table: Table[M], limits: RequestLimits, background: Background, tick: float
    ) -> None:
        self._machine, self._table, self._background, self._tick = machine, table, background, tick
        self._fixed: dict[tuple[str, str], Endpoint[M]] = {
            (one.method, one.path): one for one in table if "{" not in one.path
        }
        self._admission = _Admission(limits, time.monotonic)
        listeners = Places(limits.streams, limits.streams_each)
        self._bulletins = {
            endpoint.name: EventStream(partial(endpoint.call, machine, HttpRequest()), listeners)
            for endpoint in table
            if endpoint.answers == EVENTS and endpoint.call is not None
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the life of the server."""
        if scope["type"] == "lifespan":
            await receive()
            async with self.running():
                await send({"type": "lifespan.startup.complete"})
                await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        try:
            reply = await self._reply(scope, receive, send)
        except RefusedError as error:
            reply = dispatch.refusal(error)
            # nobody waits for the rest of a body that is refused
            reply = replace(reply, headers={**reply.headers, "connection": "close"})
        except DisconnectedError:
            return
        if reply is not None:
            await write(reply, send)

    async def _reply(self, scope: Scope, receive: Receive, send: Send) -> HttpReply | None:
        """What a machine answers; None where the reply has been written."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        found = self._fixed.get((method, scope["path"]))
        try:
            endpoint, params = (found, {}) if found else dispatch.match(self._table, method, scope["path"])
        except RefusedError as error:
            return dispatch.refusal(error)
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        client = scope.get("client")
        head, address = HttpRequest(b"", params, headers), origin(client[0] if client else "")
        body = await self._admission.body(self._machine, endpoint, head, address, receive)
        if endpoint.name in self._bulletins:
            await self._bulletins[endpoint.name].serve(address, receive, send)
            return None
        if endpoint.call is not None:
            return dispatch.answer(self._machine, endpoint, HttpRequest(body, params, headers))
        return page() if endpoint.answers == HTML else dispatch.reply(endpoint, describe(self._table))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the background is at work."""
        task = asyncio.create_task(self._keep_going())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _keep_going(self) -> None:
        while True:
            wait = None
            try:
                wait = await self._background()
                for events in self._bulletins.values():
                    events.look()
            except Exception:  # whatever it was, the server must go on answering and try again
                logging.getLogger("murmura").exception("the server could not move on")
            await asyncio.sleep(self._tick if wait is None else wait)


@cache
def page() -> HttpReply:
    """One HTML file without outside parts."""
    content = (files("murmura.web") / "status.html").read_bytes()
    headers = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", "cache-control": "no-cache"}
    return HttpReply(200, content, {**headers, "content-type": HTML})
