"""Replies as they travel: the head of an HTTP/1.1 message, and the pieces of a body without a known length."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from murmura.wire.transport import HttpReply

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
