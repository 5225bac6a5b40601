"""HTTP/1.1 as it is spoken: what the head of a request says, the head of a reply, the pieces of a body."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import unquote

import httptools

from murmura.wire.refusals import malformed
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
