"""Connections that cost others nothing: so many from one address, and each of them in time.

uvicorn has no deadline for the header of a request, for the reader of a reply or for a TLS handshake, and no
limit per address. Here a connection is counted when it is accepted, before anything of it is read.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from murmura.web.limits import Places, origin

CHUNK = 256 << 10  # what asyncio reads at once
HEADER_BYTES = 64 << 10  # of a request: its header, and what its body has beside its bytes
CHUNKED = 8  # bytes of framing that one byte of a chunked body may have


@dataclass(frozen=True)
class ConnectionLimits:
    """How many there may be, and the seconds each part of one may take."""

    most: int = 4096
    each: int = 256  # from one address
    handshake: float = 10.0  # of TLS
    header: float = 10.0  # from the connection, or the first byte of a request, to the end of its header
    idle: float = 30.0  # between two requests
    stalled: float = 30.0  # while the other side reads nothing of a reply


class CountedListener(socket.socket):
    """Accepts connections as long as there are places for them; the others are closed at once."""

    places: Places

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection with a place."""
        accepted, address = super().accept()
        whose = origin(str(address[0]))
        if not self.places.enter(whose):
            accepted.close()
            raise ConnectionAbortedError  # asyncio looks again
        # the body of an answer must not wait, 40 ms each, until its headers are acknowledged
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        family, kind, protocol = accepted.family, accepted.type, accepted.proto
        counted = _CountedConnection(family, kind, protocol, accepted.detach())
        counted.place = self.places, whose
        return counted, address


class _CountedConnection(socket.socket):
    """Gives its place back when it is closed."""

    place: tuple[Places, str] | None = None

    def close(self) -> None:
        if self.place is not None:
            places, whose = self.place
            self.place = None
            places.leave(whose)
        super().close()


def listen(host: str, port: int, places: Places, backlog: int = 2048) -> CountedListener:
    """A socket that is listened on."""
    made = CountedListener(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    made.places = places
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    made.listen(backlog)
    return made


class TimedLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers give up TLS handshakes that hang; uvicorn cannot be told to."""

    def __init__(self, handshake: float) -> None:
        super().__init__()
        self._handshake = handshake

    async def create_server(self, *args: Any, ssl: Any = None, **named: Any) -> asyncio.Server:
        """As asyncio does, with deadlines."""
        if ssl is not None:
            named |= {"ssl_handshake_timeout": self._handshake, "ssl_shutdown_timeout": self._handshake}
        return await super().create_server(*args, ssl=ssl, **named)


class TimedProtocol(HttpToolsProtocol):
    """HTTP by httptools, ended when a part of it takes too long or a header is too large."""

    def __init__(self, limits: ConnectionLimits, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._limits = limits
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._chunk = self._received = self._body = 0  # bytes: now, of this request, of its body

    def _start(self, timer: str, seconds: float) -> None:
        if timer not in self._timers:
            self._timers[timer] = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self, timer: str) -> None:
        if timer in self._timers:
            self._timers.pop(timer).cancel()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, and has to say what is wanted."""
        super().connection_made(transport)
        self._start("header", self._limits.header)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        for timer in tuple(self._timers):
            self._stop(timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A part of a request."""
        answering: RequestResponseCycle | None = self.cycle  # none before the first request
        if answering is None or answering.response_complete:
            self._start("header", self._limits.header)
        self._chunk = len(data)
        self._received += len(data)
        super().data_received(data)
        if self._received - (1 + CHUNKED) * self._body > HEADER_BYTES + CHUNK:
            self.transport.abort()
        elif self.transport.is_closing():
            self._start("end", self._limits.stalled)

    def on_message_begin(self) -> None:
        """A request begins somewhere in what came now."""
        super().on_message_begin()
        self._received, self._body = self._chunk, 0

    def on_headers_complete(self) -> None:
        """The rest is its body, which has deadlines of its own."""
        self._stop("header")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._body += len(body)
        if not self.cycle.body:  # what is added to no bytes is handed on as it is; uvicorn would copy it twice
            self.cycle.body = b""  # type: ignore[assignment]
        super().on_body(body)

    def on_response_complete(self) -> None:
        """The reply is written; somebody still has to read it."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._start("end", self._limits.stalled)

    def timeout_keep_alive_handler(self) -> None:
        """No other request came."""
        super().timeout_keep_alive_handler()
        self._start("end", self._limits.stalled)

    def pause_writing(self) -> None:
        """The other side reads too slowly."""
        super().pause_writing()
        self._start("stalled", self._limits.stalled)

    def resume_writing(self) -> None:
        """It reads on."""
        self._stop("stalled")
        super().resume_writing()
