"""Requests that leave in one piece: beside a header that comes alone, its body wakes a server a second time.

httpcore writes the header of a request and its body one after the other. Here what is short waits until the
reply is asked for, and leaves with whatever was written by then.
"""

from __future__ import annotations

import contextlib
from typing import Any

HELD = 64 << 10  # bytes that may wait


class WholeRequests:
    """A network of httpcore whose connections send whole requests."""

    def __init__(self, network: Any) -> None:
        self._network = network

    async def connect_tcp(self, *args: Any, **named: Any) -> OneWrite:
        """A connection to a machine."""
        return OneWrite(await self._network.connect_tcp(*args, **named))

    async def sleep(self, seconds: float) -> None:
        """Wait, as httpcore does before it connects again."""
        await self._network.sleep(seconds)


class OneWrite:
    """A connection on which short pieces wait for the last one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._held = b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Keep a piece, or send it with what was kept."""
        self._held += buffer
        if len(self._held) > HELD:
            await self._send(timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What comes, once everything is sent."""
        from httpcore import WriteError

        with contextlib.suppress(WriteError):  # as httpcore does: who has closed may have answered before
            await self._send(timeout)
        found: bytes = await self._stream.read(max_bytes, timeout)
        return found

    async def start_tls(self, *args: Any, **named: Any) -> OneWrite:
        """The same, encrypted."""
        await self._send(None)
        return OneWrite(await self._stream.start_tls(*args, **named))

    async def aclose(self) -> None:
        """End it."""
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        """What is known of the connection below."""
        return self._stream.get_extra_info(info)

    async def _send(self, timeout: float | None) -> None:
        held, self._held = self._held, b""
        if held:
            await self._stream.write(held, timeout)
