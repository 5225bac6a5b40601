"""The one seam to the network: a request goes out, a reply comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from murmura.wire.refusals import RefusedError, json_object

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
