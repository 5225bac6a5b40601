"""One connection: requests are read in time and answered in their order, replies are written as they are read.

HTTP is parsed by httptools. A request is answered as soon as it is whole, in the call that brought its last
bytes: there is no task for it, and nothing is copied that need not be. A long body that was let in by its first
bytes is received where it stays, past the parser, which need not look at it.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import httptools

from murmura.server import dispatch
from murmura.server.http import http_messages as replies
from murmura.server.http.connections import ConnectionLimits, CountedConnection
from murmura.server.http.http_messages import (
    FORWARDED,
    EventStream,
    UnreadReplies,
    add_header,
    check_host,
    path_of,
)
from murmura.server.http.limits import BodyReader, Proxies, origin
from murmura.server.http.machine_app import AdmittedRequest, App
from murmura.wire.refusals import RefusedError, malformed
from murmura.wire.transport import HttpReply

CHUNK = 16 << 10  # bytes that are read at once, apart from bodies that are received where they stay
HEADER_BYTES = 64 << 10  # of a request: its header, and what its body has beside its bytes
CHUNKED = 8  # bytes of framing that one byte of a chunked body may have
PIECE = 64 << 10  # bytes of a reply that are written at once: who does not read holds no more of it in memory
BROKEN = HttpReply(500)  # a fault of this program, which is in its log


@dataclass
class Exchange:
    """A request and how its reply is to be written."""

    request: AdmittedRequest[Any] | None  # None: it was refused, and nothing more of it is read
    keep: bool  # whether another request may follow
    bare: bool = False  # a HEAD: no body
    chunked: bool = True  # whether the other side knows bodies in chunks
    refusal: HttpReply = BROKEN


@dataclass
class Service:
    """What all connections of a server share."""

    app: App[Any]
    limits: ConnectionLimits
    proxies: Proxies = field(default_factory=lambda: Proxies(()))
    accepted: dict[int, CountedConnection] = field(default_factory=dict)  # by their file numbers
    connections: set[HttpProtocol] = field(default_factory=set)
    stopping: bool = False
    # asyncio tells how much was read before it reads for anybody else, so that one piece of memory is enough
    chunk: memoryview = field(default_factory=lambda: memoryview(bytearray(CHUNK)))

    def __post_init__(self) -> None:
        self.unread = UnreadReplies(self.limits.unread)


class HttpProtocol(asyncio.BufferedProtocol):
    """HTTP/1.1 on one connection, ended when a part of it takes too long or a header is too large."""

    def __init__(self, service: Service) -> None:
        self._service, self._app, self._limits = service, service.app, service.limits
        self._loop = asyncio.get_running_loop()
        self._peer = ""
        self._parser = httptools.HttpRequestParser(self)
        self._url, self._headers = b"", dict[str, str]()
        self._reading: Exchange | None = None  # its header is here, the rest is not
        self._incoming: BodyReader | None = None  # the rest
        self._whole: deque[Exchange] = deque()  # to be answered
        self._begun = True  # something of a request has come, or must
        self._deaf = False  # what comes is not looked at
        self._in_place: BodyReader | None = None  # what comes is this body, past the parser
        self._count = self._now = self._received = self._body = (
            0  # requests; bytes: now, of this one, of its body
        )
        self._rest: memoryview | None = None  # of a reply
        self._stream: asyncio.Task[None] | None = None
        self._last = False  # the reply that is being written is the last
        self._waiting = False  # nothing is read
        self._writable = asyncio.Event()  # the other side reads
        self._writable.set()
        self._state, self._since, self._deadline = ("", 0), 0.0, math.inf
        self._timer: asyncio.TimerHandle | None = None

    # the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there, and has to say what is wanted."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if peer else ""
        self._by_proxy = self._service.proxies.has(self._peer)
        self._service.connections.add(self)
        opened = transport.get_extra_info("socket")
        if opened is not None:
            transport.set_write_buffer_limits(1, 0)  # no piece before the one before is with the system
            self._service.accepted[opened.fileno()].speaker = self
        self._settle()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._service.connections.discard(self)
        self._deaf = True
        if self._timer is not None:
            self._timer.cancel()
        if self._stream is not None:
            self._stream.cancel()
        self._let_go()
        self._whole.clear()
        self._rest = None
        self._service.unread.drop(self)
        del self._parser  # it holds this object

    def finish(self) -> None:
        """The server stops: what was asked is still answered, streams end."""
        asked = self._whole or self._rest or (self._begun and self._received)
        if self._stream is not None or not asked:
            self._close()

    def abort(self) -> None:
        """End it now."""
        self._transport.abort()

    def _close(self) -> None:
        self._deaf = True
        if self._stream is not None:
            self._stream.cancel()
        self._transport.close()
        self._settle()

    # time

    def _settle(self) -> None:
        """What is waited for now, and until when."""
        limits = self._limits
        if self._transport.is_closing():
            state, seconds = "end", limits.stalled
        elif not self._writable.is_set():
            state, seconds = "stalled", limits.stalled
        elif self._writing:
            state, seconds = "answering", math.inf
        elif self._incoming is not None:
            self._state = "body", self._count
            self._watch(self._incoming.deadline)
            return
        elif self._begun:
            state, seconds = "header", limits.header
        else:
            state, seconds = "idle", limits.idle
        if self._state != (state, self._count):
            self._state, self._since = (state, self._count), self._loop.time()
            self._watch(self._since + seconds)

    def waits(self) -> tuple[bool, float]:
        """Whether a reply is on its way, and since when nothing has come or gone that had to."""
        if self._state[0] == "body" and self._incoming is not None:
            return False, self._incoming.since
        return self._state[0] == "answering", self._since

    def _watch(self, deadline: float) -> None:
        """One timer for all deadlines: a later one is seen when an earlier one has passed."""
        self._deadline = deadline
        if deadline < math.inf and (self._timer is None or self._timer.when() > deadline):
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            self._watch(self._deadline)
        elif self._state[0] == "idle":
            self._close()
        elif self._state[0] == "body" and self._incoming is not None:
            self._refuse(self._incoming.slow)
            self._work()
        else:
            self._transport.abort()

    # what comes

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._service.chunk if self._in_place is None else self._in_place.unfilled()

    def buffer_updated(self, nbytes: int) -> None:
        """So many have come."""
        if self._deaf:
            return
        if self._in_place is not None:
            if self._in_place.fill(nbytes, self._loop.time()):
                self._in_place = None
                self._parser = httptools.HttpRequestParser(self)  # the old one still waits for that body
                self.on_message_complete()
        else:
            self._begun = True
            self._now = nbytes
            self._received += nbytes
            try:
                self._parser.feed_data(self._service.chunk[:nbytes])
            except httptools.HttpParserUpgrade:  # to what, nobody asks: it is answered as it is
                self._deaf = True
                if self._whole:
                    self._whole[-1].keep = False
            except httptools.HttpParserCallbackError:
                self._break()
            except httptools.HttpParserError:
                self._refuse(malformed("a request must be HTTP/1.1, but is not."))
            if self._received - (1 + CHUNKED) * self._body > HEADER_BYTES + CHUNK:
                self._transport.abort()
                return
        self._work()

    # what the parser finds

    def on_message_begin(self) -> None:
        """A request begins somewhere in what came now."""
        self._begun = True
        self._count += 1
        self._received, self._body = self._now, 0
        self._url, self._headers = b"", {}

    def on_url(self, url: bytes) -> None:
        """A part of its address."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One line; behind a body nobody looks at it."""
        if self._deaf or self._reading is not None:
            return
        add_header(self._headers, name, value, self._by_proxy)

    def on_headers_complete(self) -> None:
        """Whether the rest of it is read, which has deadlines of its own."""
        if self._deaf:
            return
        parser, headers = self._parser, self._headers
        method, modern = parser.get_method().decode("latin-1"), parser.get_http_version() == "1.1"
        exchange = Exchange(None, modern and parser.should_keep_alive(), method == "HEAD", modern)
        self._reading = exchange
        address = self._service.proxies.client(self._peer, headers.get(FORWARDED))
        try:
            check_host(headers, modern)
            exchange.request = self._app.admit(
                "GET" if exchange.bare else method,
                path_of(self._url),
                headers,
                origin(address),
                self._loop.time(),
            )
        except RefusedError as error:
            self._refuse(error)
            return
        self._incoming = exchange.request.body
        waits = modern and headers.get("expect", "").lower() == "100-continue"
        if waits and not (self._whole or self._writing):
            self._transport.write(replies.CONTINUE)

    def on_body(self, part: bytes) -> None:
        """A part of the body."""
        if self._deaf or self._incoming is None:
            return
        self._body += len(part)
        try:
            self._incoming.add(part, self._loop.time())
        except RefusedError as error:
            self._refuse(error)
            return
        if self._incoming.in_place:
            self._in_place = self._incoming

    def on_message_complete(self) -> None:
        """It is whole."""
        exchange, self._begun = self._reading, False
        self._let_go()
        if exchange is not None and not self._deaf:
            self._whole.append(exchange)

    def _refuse(self, error: RefusedError) -> None:
        """Answer with a no, and read nothing more: nobody waits for the rest of a body that is refused."""
        bare = self._reading is not None and self._reading.bare
        self._let_go()
        self._deaf = True
        self._whole.append(Exchange(None, False, bare, refusal=dispatch.refusal(error)))

    def _break(self) -> None:
        """This program has a fault; the connection ends with it, and nothing else does."""
        logging.getLogger("murmura").exception("a request could not be answered")
        self._let_go()
        self._deaf = True
        self._whole.append(Exchange(None, False))

    def _let_go(self) -> None:
        if self._incoming is not None:
            self._incoming.close()
        self._reading = self._incoming = self._in_place = None

    # what is answered

    def _work(self) -> None:
        """Answer what is whole, in its order; what comes while one is answered waits."""
        while self._whole and not self._writing and not self._transport.is_closing():
            self._answer(self._whole.popleft())
        wait = self._writing and bool(self._whole or self._begun)
        if wait != self._waiting and not self._transport.is_closing():
            self._waiting = wait
            (self._transport.pause_reading if wait else self._transport.resume_reading)()
        self._settle()

    @property
    def _writing(self) -> bool:
        """Whether a reply is on its way, or what was written waits to be read."""
        return self._rest is not None or self._stream is not None or not self._writable.is_set()

    def _answer(self, exchange: Exchange) -> None:
        self._last = not exchange.keep or self._service.stopping
        try:
            found = exchange.refusal if exchange.request is None else self._app.answer(exchange.request)
            if isinstance(found, EventStream):
                self._begin_stream(found, exchange)
                return
        except RefusedError as error:
            found, self._last = dispatch.refusal(error), True
        except Exception:
            logging.getLogger("murmura").exception("a request could not be answered")
            found, self._last = BROKEN, True
        head = replies.head(found, not self._last, always=self._app.always)
        content = b"" if exchange.bare or found.status == replies.NOT_MODIFIED else found.body
        if len(content) <= PIECE:
            self._transport.write(head + content)
            self._end()
        else:
            self._transport.write(head)
            address = self._peer if exchange.request is None else exchange.request.address
            self._rest = memoryview(self._service.unread.hold(address, self, content))
            self._write_on()

    def _write_on(self) -> None:
        """As much of a long reply as the other side takes."""
        while self._rest is not None and self._writable.is_set() and not self._transport.is_closing():
            piece, rest = self._rest[:PIECE], self._rest[PIECE:]
            self._rest = rest if len(rest) else None
            self._transport.write(piece)
            if self._rest is None:
                self._service.unread.drop(self)
                self._end()

    def _end(self) -> None:
        if self._last:
            self._close()

    def _begin_stream(self, events: EventStream, exchange: Exchange) -> None:
        assert exchange.request is not None
        address = exchange.request.address
        events.enter(address, self)
        chunked, self._last = exchange.chunked, True
        head = replies.head(events.reply, False, replies.CHUNKED if chunked else "", self._app.always)
        self._stream = self._loop.create_task(self._tell(events, head, chunked, exchange.bare))
        self._stream.add_done_callback(lambda _: events.leave(address, self))

    async def _tell(self, events: EventStream, head: bytes, chunked: bool, bare: bool) -> None:
        self._transport.write(head)
        if not bare:
            async for piece in events.stream():
                await self._writable.wait()
                self._transport.write(replies.chunk(piece) if chunked else piece)
        self._stream = None
        self._close()

    def pause_writing(self) -> None:
        """The other side reads too slowly."""
        self._writable.clear()
        self._settle()

    def resume_writing(self) -> None:
        """It reads on."""
        self._writable.set()
        self._write_on()
        self._work()
