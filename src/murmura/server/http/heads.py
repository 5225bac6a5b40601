"""What the head of a request says: its headers by name, the host it is for, the path it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

import httptools

from murmura.wire.refusals import RefusedError

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
        raise RefusedError("malformed", f"a request must have one Host header, but has {found}; send one.")


def path_of(url: bytes) -> str:
    """The path of an address; what is no address has none that leads anywhere."""
    if not url.startswith(b"/"):
        try:
            url = httptools.parse_url(url).path or b""
        except httptools.HttpParserInvalidURLError:
            return ""
    path = url.partition(b"?")[0].decode("latin-1")
    return unquote(path) if "%" in path else path
