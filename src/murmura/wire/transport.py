"""The one seam to the network: a request goes out, a reply comes back; and what addresses of machines name."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from murmura.wire.refusals import RefusedError, forged, json_object, malformed

PLAIN = re.compile(
    r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~%/-]*)?", re.ASCII
)


def check_plain(url: str) -> None:
    """Refuse an address that could say more in a list of addresses than where a machine is."""
    if PLAIN.fullmatch(url) is None:
        raise malformed(
            "the address of an aggregator must be scheme://host:port/path in plain characters, but is not."
        )


def host_of(url: str) -> str:
    """The host of an address, in lower case."""
    try:
        return (urlsplit(url).hostname or "").lower().rstrip(".")
    except ValueError:
        raise malformed("an address must be a URL, but is not.") from None


def check_elsewhere(url: str, *named: str) -> None:
    """Refuse what a server elsewhere names on this machine: who posts there talks to services of its own."""
    for one in () if reaches_itself(host_of(url)) else named:
        if reaches_itself(host_of(one)):
            raise forged(
                f"the aggregators of a federation elsewhere must be elsewhere, but one is at {one}; "
                "take no part."
            )


def reaches_itself(host: str) -> bool:
    """Whether whoever asks this host asks its own machine, in whatever way the host is written."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        try:
            found = ipaddress.ip_address(socket.inet_aton(host))  # 127.1, 0x7f000001, 2130706433
        except OSError:
            return host == "localhost" or host.endswith(".localhost")
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return found.is_loopback or found.is_unspecified


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: 127.0.0.0/8, ::1 or localhost."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


VERSION_HEADER = "murmura-protocol"
REPLY_BYTES = 1 << 20  # of a reply's body that are read where nobody says how long it may be
DOWNLOAD_BYTES = 64 << 20  # of what is published, whatever its announced length


@dataclass(frozen=True)
class HttpReply:
    """What came back."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case

    def json(self) -> dict[str, Any]:
        """The body as a JSON object; refuses anything else."""
        return json_object(self.body, "a reply must be a JSON object, but it is something else.")


class Transport(Protocol):
    """Sends one request; raises UnreachableError when nobody answers."""

    async def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        """The reply, whatever its status; one whose body has more than `largest` bytes is refused unread."""


async def ask(
    send: Transport,
    method: str,
    url: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    largest: int = REPLY_BYTES,
) -> HttpReply:
    """The reply to a request in this version of the protocol; a refusal is raised as one."""
    from murmura.wire.wire import PROTOCOL

    spoken = {VERSION_HEADER: str(PROTOCOL), **(headers or {})}
    reply = await send(method, url, body, spoken, largest=largest)
    if reply.status >= 400:
        raise RefusedError.read(reply.status, reply.body)
    return reply


async def ask_known(
    send: Transport, url: str, headers: Mapping[str, str] | None = None, *, largest: int = REPLY_BYTES
) -> bytes | None:
    """What is at an address; None where there is nothing yet."""
    try:
        return (await ask(send, "GET", url, headers=headers, largest=largest)).body
    except RefusedError as error:
        if error.code == "unknown":
            return None
        raise


def check_length(url: str, length: int, largest: int) -> None:
    """Refuse a reply that is longer than what is read of it."""
    if length > largest:
        raise RefusedError(
            "oversize",
            f"the reply of {url} must have at most {largest} bytes, but has more; it was not read on.",
        )


def bearer(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"authorization": f"Bearer {token}"}
