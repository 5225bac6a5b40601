"""HTTP on one connection: what follows what, what is written when, and what ends it."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.server.endpoints import HttpRequest
from murmura.server.http.http_protocol import CHUNK, PIECE, HttpProtocol, Service
from murmura.server.http.limits import Proxies
from murmura.server.http.machine_app import App
from murmura.server.http.serving import ListenAddress
from tests.http.certificates import certificate
from tests.web.server import ANY, HONEST, KEY, MEGABYTE, PLENTY, TABLE, Machine, begin, connected, nothing, toy

GET = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"


class Written(asyncio.Transport):
    """A transport that keeps what is written, and takes `most` bytes before it asks to wait."""

    def __init__(self, most: int = 1 << 40) -> None:
        super().__init__({"peername": ("192.0.2.1", 1)})
        self.pieces: list[bytes] = []
        self.most, self.closed, self.reading = most, False, True
        self.protocol: HttpProtocol | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.pieces.append(bytes(data))
        if sum(map(len, self.pieces)) >= self.most and self.protocol is not None:
            self.most = 1 << 40
            self.protocol.pause_writing()

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def said(protocol: HttpProtocol, data: bytes) -> None:
    """Bytes come, as asyncio hands them over."""
    while data:
        room = protocol.get_buffer(-1)
        part, data = data[: len(room)], data[len(room) :]
        room[: len(part)] = part
        protocol.buffer_updated(len(part))


def with_protocol(act: Callable[[HttpProtocol, Written, Machine], None], most: int = 1 << 40) -> None:
    async def run() -> None:
        machine, transport = Machine(), Written(most)
        protocol = HttpProtocol(Service(App(machine, TABLE, PLENTY, nothing, 0.01), ANY))
        transport.protocol = protocol
        protocol.connection_made(transport)
        act(protocol, transport, machine)
        protocol.connection_lost(None)

    asyncio.run(run())


def test_a_long_reply_is_written_in_pieces_as_it_is_read() -> None:
    """So that whoever does not read it holds a few of them, not a model."""

    def act(protocol: HttpProtocol, transport: Written, machine: Machine) -> None:
        said(protocol, b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n" + GET)
        assert (len(transport.pieces), transport.reading) == (3, False)
        protocol.resume_writing()
        assert max(map(len, transport.pieces)) == PIECE
        head, *body, last = transport.pieces
        assert (b"content-length: 67108864\r\n" in head, sum(map(len, body))) == (True, 64 * MEGABYTE)
        assert last.endswith(b'{"ok": true}')  # what was asked behind it is answered behind it
        assert transport.reading

    with_protocol(act, 2 * PIECE)


def test_many_requests_at_once_are_answered_in_their_order() -> None:
    def act(protocol: HttpProtocol, transport: Written, machine: Machine) -> None:
        upload = begin("/guarded", 5000 + len(KEY)) + KEY + bytes(5000)
        said(protocol, GET + begin("/open", 3) + b"abc" + upload + begin("/open", 4) + b"abcd")
        assert [one.rpartition(b"\r\n\r\n")[2] for one in transport.pieces] == [
            b'{"ok": true}',
            b"3",
            str(5000 + len(KEY)).encode(),
            b"4",
        ]
        assert not transport.closed

    with_protocol(act)


def test_who_asks_on_without_reading_is_not_answered_on() -> None:
    """Short replies as well: a few requests would fill the memory with them."""

    def act(protocol: HttpProtocol, transport: Written, machine: Machine) -> None:
        said(protocol, 100 * GET)
        assert (len(transport.pieces), transport.reading) == (2, False)
        protocol.resume_writing()
        assert (len(transport.pieces), transport.reading) == (100, True)

    with_protocol(act, 300)


@pytest.mark.parametrize(
    ("size", "step"),
    [
        *((size, 1) for size in (1, CHUNK - 1, CHUNK)),
        *((size, step) for size in (1, CHUNK, 3 * CHUNK, 10 * CHUNK + 1) for step in (1000, CHUNK, 1 << 20)),
    ],
)
def test_an_upload_is_whole_however_it_comes(size: int, step: int) -> None:
    content = KEY + bytes(n % 251 for n in range(size))
    seen: list[bytes] = []

    class Keeping(Machine):
        def upload(self, body: bytes) -> bytes:
            seen.append(bytes(body))
            return b"kept"

    async def run() -> None:
        transport = Written()
        protocol = HttpProtocol(Service(App(Keeping(), TABLE, PLENTY, nothing, 0.01), ANY))
        protocol.connection_made(transport)
        for path in ("/guarded", "/open", "/guarded"):
            whole = begin(path, len(content)) + content
            for at in range(0, len(whole), step):
                said(protocol, whole[at : at + step])
        assert len(transport.pieces) == 3
        protocol.connection_lost(None)

    asyncio.run(run())
    assert seen == [content] * 3


@pytest.mark.parametrize(
    ("request_", "status", "ends"),
    [
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", 200, False),
        (b"GET /healthz?a=b HTTP/1.1\r\nhost: x\r\n\r\n", 200, False),
        (b"GET http://x/healthz HTTP/1.1\r\nhost: x\r\n\r\n", 200, False),
        (b"GET /%68ealthz HTTP/1.1\r\nhost: x\r\n\r\n", 200, False),
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", 200, True),
        (b"GET /healthz HTTP/1.0\r\n\r\n", 200, True),
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n", 200, True),
        (b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n", 404, True),
        (b"CONNECT x:80 HTTP/1.1\r\nhost: x\r\n\r\n", 404, True),
        (b"POST /open HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd", 400, True),
        (
            b"POST /open HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabcd",
            400,
            True,
        ),
        (
            b"POST /open HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            200,
            False,
        ),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400, True),
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n", 400, True),
        (b"GET /healthz HTTP/1.0\r\nhost: x\r\nhost: x\r\n\r\n", 400, True),
        (b"POST /open HTTP/1.1\r\nhost: x\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n", 400, True),
        (b"POST /open HTTP/1.1\r\nhost: x\r\ncontent-length: " + b"0" * 5000 + b"\r\n\r\n", 413, True),
        (b"no HTTP at all\r\n\r\n", 400, True),
        (b"\x16\x03\x01\x02\x00", 400, True),
    ],
)
def test_what_follows_a_reply(request_: bytes, status: int, ends: bool) -> None:
    def act(protocol: HttpProtocol, transport: Written, machine: Machine) -> None:
        said(protocol, request_)
        (reply,) = transport.pieces
        assert reply.startswith(f"HTTP/1.1 {status} ".encode())
        assert (transport.closed, b"connection: close\r\n" in reply) == (ends, ends)
        said(protocol, GET)
        assert len(transport.pieces) == (1 if ends else 2)

    with_protocol(act)


def test_who_waits_to_be_told_is_told_to_send() -> None:
    def act(protocol: HttpProtocol, transport: Written, machine: Machine) -> None:
        start = b"POST /open HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: "
        said(protocol, start + b"3\r\n\r\n")
        assert transport.pieces == [b"HTTP/1.1 100 Continue\r\n\r\n"]
        said(protocol, b"abc" + start + b"9999999\r\n\r\n")
        assert [one[:12] for one in transport.pieces[1:]] == [b"HTTP/1.1 200", b"HTTP/1.1 413"]

    with_protocol(act)


def test_what_comes_behind_a_body_is_no_header() -> None:
    """A trailer shows no token: whoever sits between might have let it through."""
    told: list[object] = []

    def listen(machine: Machine, request: HttpRequest) -> bytes:
        told.append(dict(request.headers))
        return b""

    table = tuple(replace(one, call=listen) if one.path == "/open" else one for one in TABLE)

    async def run() -> None:
        protocol = HttpProtocol(Service(App(Machine(), table, PLENTY, nothing, 0.01), ANY))
        protocol.connection_made(Written())
        start = b"POST /open HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
        said(protocol, start + b"authorization: Bearer x\r\n\r\n")

    asyncio.run(run())
    assert told == [{"host": "x", "transfer-encoding": "chunked"}]


def test_a_fault_of_the_program_ends_one_connection_only(caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(Machine):
        def upload(self, body: bytes) -> bytes:
            raise ZeroDivisionError

    with toy(machine=Faulty()) as port, connected(port, 2) as (one, other):
        one.sendall(begin("/open", 1) + b"x")
        assert one.recv(12) == b"HTTP/1.1 500"
        other.sendall(GET)
        assert other.recv(12) == b"HTTP/1.1 200"
    assert "could not be answered" in caplog.text


@contextmanager
def over_tls(folder: Path) -> Iterator[http.client.HTTPSConnection]:
    import ssl

    files = certificate(folder)
    with toy(address=ListenAddress("127.0.0.1", 0, *files)) as port:
        client = http.client.HTTPSConnection(
            HONEST, port, timeout=60, context=ssl.create_default_context(cafile=str(files[0]))
        )
        with closing(client):
            yield client


def test_uploads_and_downloads_over_tls(tmp_path: Path) -> None:
    with over_tls(tmp_path) as client:
        for path in ("/open", "/guarded", "/open"):
            client.request("POST", path, KEY + bytes(MEGABYTE // 2))
            assert client.getresponse().read() == str(len(KEY) + MEGABYTE // 2).encode()
        client.request("GET", "/large")
        reply = client.getresponse()
        assert len(reply.read()) == 64 * MEGABYTE
        assert reply.headers["strict-transport-security"] == "max-age=31536000"


def test_without_tls_nothing_is_said_of_it() -> None:
    with toy() as port, connected(port) as (one,):
        one.sendall(GET)
        assert b"strict-transport-security" not in one.recv(4096)


def test_a_stopped_server_ends_what_waits_and_what_listens() -> None:
    with ExitStack() as stack:
        with toy() as port:
            idle, listener = (stack.enter_context(one)[0] for one in (connected(port), connected(port)))
            idle.sendall(GET)
            assert idle.recv(12) == b"HTTP/1.1 200"
            listener.sendall(b"GET /events HTTP/1.1\r\nhost: x\r\n\r\n")
            assert listener.recv(12) == b"HTTP/1.1 200"
        for one in (idle, listener):
            while one.recv(1 << 16):
                pass


def test_a_proxy_says_whose_request_it_is_and_nobody_else_does() -> None:
    proxies = Proxies(("10.0.0.0/8", "::1/128"))
    assert proxies.client("192.0.2.1", "198.51.100.7") == "192.0.2.1"
    assert proxies.client("10.0.0.1", None) == "10.0.0.1"
    assert proxies.client("10.0.0.1", "203.0.113.9, 198.51.100.7") == "198.51.100.7"  # the rest is hearsay
    assert proxies.client("10.0.0.1", "198.51.100.7:4711, 10.0.0.2") == "198.51.100.7"
    assert proxies.client("::1", "[2001:db8::1]:80") == "2001:db8::1"
    assert proxies.client("10.0.0.1", "10.0.0.3, 10.0.0.2") == "10.0.0.3"
    assert proxies.client("10.0.0.1", "") == "10.0.0.1"
    assert Proxies(()).client("10.0.0.1", "198.51.100.7") == "10.0.0.1"
