"""HTTP/1.1 as it is spoken: what the head of a request says, the head of a reply, the pieces of a body.

Some replies last: the stream of events, and long bodies while they are read. What is new is looked for once for
all who listen. Equal bodies are in memory once, all of them within a limit.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import unquote

import httptools

from murmura.server.dispatch import event
from murmura.server.endpoints import EVENTS
from murmura.server.http.connections import Holder, Places
from murmura.wire.refusals import RefusedError, malformed
from murmura.wire.transport import HttpReply

FORWARDED, HOST = "x-forwarded-for", "host"


def add_header(headers: dict[str, str], name: bytes, value: bytes, by_proxy: bool) -> None:
    """One line: the last of a name counts; hosts, and what proxies say, are put one behind the other."""
    key, said = name.decode("latin-1").lower(), value.decode("latin-1")
    if key in headers and (key == HOST or (key == FORWARDED and by_proxy)):
        said = f"{headers[key]}, {said}"
    headers[key] = said


def check_host(headers: Mapping[str, str], modern: bool) -> None:
    """Refuse two hosts, and none in HTTP/1.1: others on the way may have read another one (RFC 9112, 3.2)."""
    named = headers.get(HOST)
    if modern if named is None else "," in named:
        found = "none" if named is None else "more"
        raise malformed(f"a request must have one Host header, but has {found}; send one.")


def path_of(url: bytes) -> str:
    """The path of an address; what is no address has none that leads anywhere."""
    if not url.startswith(b"/"):
        try:
            url = httptools.parse_url(url).path or b""
        except httptools.HttpParserInvalidURLError:
            return ""
    path = url.partition(b"?")[0].decode("latin-1")
    return unquote(path) if "%" in path else path


NOT_MODIFIED = 304
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CHUNKED = "transfer-encoding: chunked\r\n"
_FIRST = {one.value: f"HTTP/1.1 {one.value} {one.phrase}\r\n" for one in HTTPStatus}


def head(reply: HttpReply, keep: bool, framing: str | None = None, always: Mapping[str, str] = {}) -> bytes:
    """What a reply begins with; `keep` says whether another request may follow on the connection.

    `framing` is how a body ends whose length nobody knows: `CHUNKED`, or "" where the connection does; `always`
    is what every reply of a server says.
    """
    lines = [_FIRST[reply.status], _date(int(time.time())), "x-content-type-options: nosniff\r\n"]
    if framing is not None:
        lines.append(framing)
    elif reply.status != NOT_MODIFIED:
        lines.append(f"content-length: {len(reply.body)}\r\n")
    for name, value in (*always.items(), *reply.headers.items()):
        text = "; charset=utf-8" if name == "content-type" and value.startswith("text/") else ""
        lines.append(f"{name}: {value}{text}\r\n")
    lines.append("\r\n" if keep else "connection: close\r\n\r\n")
    return "".join(lines).encode("latin-1")


def chunk(piece: bytes) -> bytes:
    """A piece of a body whose length nobody knows yet."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


@lru_cache(1)
def _date(second: int) -> str:
    return f"date: {formatdate(second, usegmt=True)}\r\n"


HEARTBEAT = 15.0  # seconds between signs of life on a stream of events


class EventStream:
    """What is announced: `news` is asked once for all who listen, who are as many as there are places."""

    reply = HttpReply(200, b"", {"content-type": EVENTS})  # what a stream begins with

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

    def enter(self, address: str, listener: Holder) -> None:
        """Take a place to listen; refused to an address that has enough of them."""
        if not self._places.enter(address, listener):
            raise RefusedError("rate", "too many listen here already; ask for the round instead.")

    def leave(self, address: str, listener: Holder) -> None:
        """Give it back."""
        self._places.leave(address, listener)

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


GRACE = 1.0  # seconds: who has read something since then is ended after those who have not
TAIL = 64  # bytes by which equal replies are looked for


@dataclass
class _Body:
    content: bytes
    readers: dict[Holder, str] = field(default_factory=dict)  # with their addresses

    @property
    def key(self) -> tuple[int, bytes]:
        return len(self.content), bytes(self.content[-TAIL:])


class UnreadReplies:
    """What has been asked for and not been read, up to `most` bytes.

    Where there is more, readers of the address that holds most are ended, first who has not read for longest.
    """

    def __init__(self, most: int) -> None:
        self._most, self._all = most, 0
        self._bodies: dict[tuple[int, bytes], _Body] = {}
        self._read: dict[Holder, _Body] = {}

    def hold(self, address: str, reader: Holder, content: bytes) -> bytes:
        """The same content, as it is already being read where it is."""
        body = _Body(content)
        known = self._bodies.get(body.key)
        if known is not None and known.content == content:
            body = known
        else:
            self._shed(len(content))
            self._bodies[body.key] = body
            self._all += len(content)
        body.readers[reader] = address
        self._read[reader] = body
        return body.content

    def drop(self, reader: Holder) -> None:
        """It has been read, or nobody is there to read it."""
        body = self._read.pop(reader, None)
        if body is None:
            return
        del body.readers[reader]
        if not body.readers:
            self._all -= len(body.content)
            if self._bodies.get(body.key) is body:
                del self._bodies[body.key]

    def _shed(self, more: int) -> None:
        while self._read and self._all + more > self._most:
            before = time.monotonic() - GRACE
            late = [one for one in self._read if one.waits()[1] < before] or list(self._read)
            held = Counter[str]()
            for one in late:
                body = self._read[one]
                held[body.readers[one]] += len(body.content) // len(body.readers)
            ((most, _),) = held.most_common(1)
            theirs = [one for one in late if self._read[one].readers[one] == most]
            for one in sorted(theirs, key=lambda one: one.waits()):
                self.drop(one)
                one.abort()
                if self._all + more <= self._most:
                    break
