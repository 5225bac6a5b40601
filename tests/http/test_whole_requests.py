"""A request leaves in one piece, and a reply that comes before its end is still read."""

from __future__ import annotations

import asyncio

import httpcore
import pytest

from murmura.device.http_transport import HELD, HttpTransport, OneWrite
from murmura.server.http.http_protocol import HttpProtocol
from tests.web.server import HONEST, Machine, toy


class Recorded:
    """A connection that remembers what is done with it."""

    def __init__(self, broken: bool = False) -> None:
        self.done: list[bytes | str] = []
        self._broken = broken

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._broken:
            raise httpcore.WriteError
        self.done.append(buffer)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.done.append("read")
        return b"reply"


def test_what_is_short_leaves_when_the_reply_is_asked_for() -> None:
    async def scenario() -> None:
        below = Recorded()
        line = OneWrite(below)
        for piece in (b"header", b"body", b""):
            await line.write(piece)
        assert below.done == []
        assert await line.read(10) == await line.read(10) == b"reply"
        assert below.done == [b"headerbody", "read", "read"]

    asyncio.run(scenario())


def test_what_is_long_leaves_at_once_with_its_header() -> None:
    async def scenario() -> None:
        below = Recorded()
        line = OneWrite(below)
        await line.write(b"header")
        await line.write(bytes(HELD))
        assert below.done == [b"header" + bytes(HELD)]

    asyncio.run(scenario())


def test_who_closes_early_may_have_answered() -> None:
    async def scenario() -> None:
        line = OneWrite(Recorded(broken=True))
        await line.write(b"header")
        assert await line.read(10) == b"reply"
        with pytest.raises(httpcore.WriteError):
            await line.write(bytes(HELD + 1))

    asyncio.run(scenario())


def test_a_server_is_woken_once_by_a_short_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a real connection, also by the second request on it."""
    machine, woken, update = Machine(), list[int](), HttpProtocol.buffer_updated

    def counted(protocol: HttpProtocol, nbytes: int) -> None:
        woken.append(nbytes)
        update(protocol, nbytes)

    monkeypatch.setattr(HttpProtocol, "buffer_updated", counted)

    async def scenario(url: str) -> list[int]:
        async with HttpTransport(connections=1) as send:
            return [(await send("POST", f"{url}/open", bytes(n), {})).status for n in (1, 10)]

    with toy(machine=machine) as port:
        assert asyncio.run(scenario(f"http://{HONEST}:{port}")) == [200, 200]
    assert (machine.uploads, len(woken)) == (2, 2)
