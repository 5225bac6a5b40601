"""A machine on the web: a request finds its row in the endpoint table; and the loop that moves on.

How much one address may ask for is limited (`http.limits`), and a body is checked by its first bytes before the
rest is read. There is no web framework between: what it would do for every request costs more than most rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from typing import Any, Generic, TypeVar

from murmura.core.errors import RunError
from murmura.server import dispatch
from murmura.server.dispatch import Table, describe
from murmura.server.endpoints import EVENTS, HTML, Endpoint, HttpRequest
from murmura.server.http.connections import Places
from murmura.server.http.http_messages import EventStream
from murmura.server.http.limits import BodyBudget, BodyReader, First, PageOrigin, RateLimiter, RequestLimits
from murmura.server.http.page_files import VisitorPage
from murmura.wire.transport import HttpReply

M = TypeVar("M")
Background = Callable[[], Awaitable[float | None]]  # how long it need not be called again, if it knows
FILE: Endpoint[Any] = Endpoint("file", "GET", "", "A part of the visitor's page.", None, HTML)


@dataclass
class AdmittedRequest(Generic[M]):
    """A request of which a machine may hear, once its body is there."""

    endpoint: Endpoint[M]
    head: HttpRequest
    address: str
    body: BodyReader | None = None


class App(Generic[M]):
    """What a machine says to requests; `background` runs again and again beside it."""

    def __init__(
        self,
        machine: M,
        table: Table[M],
        limits: RequestLimits,
        background: Background,
        tick: float,
        page: VisitorPage | None = None,
        allowed: PageOrigin | None = None,
    ) -> None:
        self._page, self._allowed = page, allowed
        self.always = {} if allowed is None else allowed.headers  # what every reply says
        self._machine, self._table, self._background, self._tick = machine, table, background, tick
        self._fixed: dict[tuple[str, str], Endpoint[M]] = {
            (one.method, one.path): one for one in table if "{" not in one.path
        }
        clock = time.monotonic
        self._rates = {
            "requests": RateLimiter(limits.rate, limits.burst, clock),
            "registrations": RateLimiter(
                limits.registrations, limits.registration_burst, clock, "registrations"
            ),
        }
        self._bodies = BodyBudget(limits.bodies)
        listeners = Places(limits.streams, limits.streams_each)
        self._bulletins = {
            endpoint.name: EventStream(partial(endpoint.call, machine, HttpRequest()), listeners)
            for endpoint in table
            if endpoint.answers == EVENTS and endpoint.call is not None
        }

    def admit(
        self, method: str, path: str, headers: dict[str, str], address: str, now: float
    ) -> AdmittedRequest[M]:
        """A request whose header has come; refuses one that is too much, or has no row."""
        found = self._fixed.get((method, path))
        if found is None and method == "GET" and self._page is not None and path in self._page.parts:
            endpoint, params = FILE, {"path": path}
        else:
            endpoint, params = (found, {}) if found else dispatch.match(self._table, method, path)
        head = HttpRequest(b"", params, headers)
        self._rates["requests"].take(address)
        if endpoint.rate != "requests":
            self._rates[endpoint.rate].take(address)
        declared = headers.get("content-length")
        if declared is None and "transfer-encoding" not in headers:
            return AdmittedRequest(endpoint, head, address)
        first: First | None = None
        if endpoint.prelude is not None:
            check = partial(dispatch.check_prelude, self._machine, endpoint)
            first = endpoint.prelude[0], lambda known: check(replace(head, content=known))
        largest = endpoint.limit(self._machine)
        body = BodyReader(self._bodies, address, declared, largest, now, first)
        return AdmittedRequest(endpoint, head, address, body)

    def answer(self, request: AdmittedRequest[M]) -> HttpReply | EventStream:
        """What a machine answers to a whole request."""
        endpoint, head = request.endpoint, request.head
        if endpoint.name in self._bulletins:
            return self._bulletins[endpoint.name]
        if endpoint.call is None:
            return self._own_answer(endpoint, head)
        if request.body is not None:
            head = HttpRequest(request.body.content(), head.params, head.headers)
        return dispatch.answer(self._machine, endpoint, head)

    def _own_answer(self, endpoint: Endpoint[M], head: HttpRequest) -> HttpReply:
        """What is asked of the web server and not of the machine."""
        if endpoint is FILE and self._page is not None:
            return self._page.reply(head.params["path"], head)
        if endpoint.answers == HTML:
            return operator_page()
        if endpoint.method == "OPTIONS":
            return (
                dispatch.refusal(dispatch.unrouted("method"))
                if self._allowed is None
                else self._allowed.preflight()
            )
        return dispatch.reply(endpoint, describe(self._table))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """While the background is at work: it ends where the folder cannot be gone on with."""
        task = asyncio.create_task(self._keep_going())
        try:
            yield task
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
            except RunError:
                raise
            except Exception:  # whatever it was, the server must go on answering and try again
                logging.getLogger("murmura").exception("the server could not move on")
            await asyncio.sleep(self._tick if wait is None else wait)


@cache
def operator_page() -> HttpReply:
    """One HTML file without outside parts."""
    content = (files("murmura.server.http") / "status.html").read_bytes()
    policy = (
        f"default-src 'none'; style-src {_hashed(content, b'style')}; "
        f"script-src {_hashed(content, b'script')}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"content-security-policy": policy, "referrer-policy": "no-referrer", "cache-control": "no-cache"}
    return HttpReply(200, content, {**headers, "content-type": HTML})


def _hashed(page: bytes, element: bytes) -> str:
    """What a policy allows where it allows the content of a page's one element of that name."""
    content = page.partition(b"<%b>" % element)[2].partition(b"</%b>" % element)[0]
    return f"'sha256-{b64encode(hashlib.sha256(content).digest()).decode()}'"
