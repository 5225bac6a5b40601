"""Requests and replies as a web server hands them over: the messages of ASGI 3, and nothing else of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from murmura.runtimes.http.protocol.transport import HttpReply

PIECE = 64 << 10  # bytes of a reply that are written at once: who does not read holds no more of it in memory
NOT_MODIFIED = 304
Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class DisconnectedError(Exception):
    """Nobody waits for the reply."""


async def parts(receive: Receive) -> AsyncIterator[bytes]:
    """The body of a request, as it comes."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def disconnected(receive: Receive) -> None:
    """Until the other side is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def write(reply: HttpReply, send: Send) -> None:
    """A reply; a long one is written as it is read."""
    whole = reply.body
    await send(head(reply, len(whole)))
    for at in range(0, max(1, len(whole)), PIECE):
        await send(body(whole[at : at + PIECE], more=at + PIECE < len(whole)))


def head(reply: HttpReply, length: int | None = None) -> Message:
    """The message a reply begins with; without a length its body ends when the connection does."""
    headers = [(b"x-content-type-options", b"nosniff")]
    if length is not None and reply.status != NOT_MODIFIED:
        headers.append((b"content-length", str(length).encode()))
    for name, value in reply.headers.items():
        text = "; charset=utf-8" if name == "content-type" and value.startswith("text/") else ""
        headers.append((name.encode("latin-1"), (value + text).encode("latin-1")))
    return {"type": "http.response.start", "status": reply.status, "headers": headers}


def body(piece: bytes, more: bool) -> Message:
    """A piece of its body."""
    return {"type": "http.response.body", "body": piece, "more_body": more}
