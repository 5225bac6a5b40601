"""A toy machine behind the real server on a real socket, and enemies with addresses of their own."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from murmura.server.endpoints import BINARY, EVENTS, Endpoint, HttpRequest
from murmura.server.http.connections import ConnectionLimits
from murmura.server.http.limits import BodyLimits, RequestLimits
from murmura.server.http.machine_app import App
from murmura.server.http.serving import ListenAddress, Server
from murmura.wire.refusals import RefusedError

HONEST, ENEMY = "127.0.0.1", "127.0.0.2"
MEGABYTE = 1 << 20
KEY = b"k" * 32  # with which an upload begins
PATIENCE = 300.0  # of a busy machine
NEVER = 1e6  # seconds
PATIENT = BodyLimits(seconds=NEVER, window=NEVER)
PLENTY = RequestLimits(rate=1e6, burst=1e6, registrations=1e6, registration_burst=1e6, bodies=PATIENT)
ANY = ConnectionLimits(most=4000, each=4000, handshake=NEVER, header=NEVER, idle=NEVER, stalled=NEVER)


@dataclass
class Machine:
    """Counts what it is told."""

    uploads: int = 0
    registered: int = 0
    answers: int = 0
    news: Callable[[], str] = field(default=lambda: "paused")

    def upload(self, body: bytes) -> bytes:
        self.uploads += 1
        return str(len(body)).encode()

    def own(self) -> bytes:
        """Another answer each time."""
        self.answers += 1
        return self.answers.to_bytes(4, "big") * MEGABYTE

    def register(self) -> dict[str, int]:
        self.registered += 1
        return {"slot": self.registered}


def check_key(machine: Machine, request: HttpRequest) -> None:
    if request.body != KEY:
        raise RefusedError("forged", "this must begin with the key, but does not.")


TABLE: tuple[Endpoint[Machine], ...] = (
    Endpoint("healthz", "GET", "/healthz", "", lambda m, r: {"ok": True}),
    Endpoint("register", "POST", "/devices", "", lambda m, r: m.register(), rate="registrations"),
    Endpoint(
        "open", "POST", "/open", "", lambda m, r: m.upload(r.body), BINARY, takes=BINARY, largest=MEGABYTE
    ),
    Endpoint(
        "guarded",
        "POST",
        "/guarded",
        "",
        lambda m, r: m.upload(r.body),
        BINARY,
        takes=BINARY,
        largest=MEGABYTE,
        prelude=(len(KEY), check_key),
    ),
    Endpoint("own", "GET", "/own", "", lambda m, r: m.own(), BINARY),
    Endpoint("large", "GET", "/large", "", lambda m, r: bytes(64 * MEGABYTE), BINARY),
    Endpoint("events", "GET", "/events", "", lambda m, r: m.news(), EVENTS),
)
UNCHECKED = tuple(replace(endpoint, prelude=None) for endpoint in TABLE)


async def nothing() -> None:
    pass


@contextmanager
def listening(
    app: App[Any], limits: ConnectionLimits = ANY, address: ListenAddress | None = None
) -> Iterator[int]:
    """The port on which the app is served as the commands do."""
    server = Server(app, address or ListenAddress(port=0), limits)
    port = server.port
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield port
    finally:
        server.stop()
        thread.join()


@contextmanager
def toy(
    requests: RequestLimits = PLENTY,
    connections: ConnectionLimits = ANY,
    table: tuple[Endpoint[Machine], ...] = TABLE,
    machine: Machine | None = None,
    address: ListenAddress | None = None,
) -> Iterator[int]:
    app = App(machine or Machine(), table, requests, nothing, 0.01)
    with listening(app, connections, address) as port:
        yield port


@contextmanager
def connected(port: int, count: int = 1, source: str = ENEMY) -> Iterator[list[socket.socket]]:
    """Open connections from an address."""
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.settimeout(PATIENCE)
            one.bind((source, 0))
            one.connect((HONEST, port))
            made.append(one)
        yield made


def begin(path: str, length: int = MEGABYTE) -> bytes:
    return f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n".encode()


def send(one: socket.socket, data: bytes) -> bool:
    """Whether all of it went out."""
    try:
        one.sendall(data)
    except OSError:
        return False
    return True


def status(one: socket.socket) -> int:
    """The status of the reply that comes; 0 if the connection is closed without one."""
    said = b""
    try:
        while b"\r\n" not in said:
            part = one.recv(4096)
            if not part:
                return 0
            said += part
    except ConnectionError:
        return 0
    return int(said.split()[1])


def ended(one: socket.socket) -> bool:
    """Whether the other side has closed this connection, as far as is known by now."""
    one.setblocking(False)
    try:
        while one.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    finally:
        one.settimeout(PATIENCE)
    return True


def asked(
    port: int,
    method: str = "GET",
    path: str = "/healthz",
    body: bytes = b"",
    source: str = HONEST,
    **headers: str,
) -> int:
    """The status an honest client gets; 0 where nobody talks to it."""
    client = http.client.HTTPConnection(HONEST, port, timeout=PATIENCE, source_address=(source, 0))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with contextlib.closing(client):
        try:
            client.request(method, path, body or None, named)
            return client.getresponse().status
        except (ConnectionError, http.client.HTTPException):
            return 0


def patiently(done: Callable[[], bool]) -> None:
    """Until it is done."""
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until, "it is never done"
        time.sleep(0.01)
