"""Thirty-two addresses with all connections a server has keep nobody else out.

Each attack also meets the same server without shedding (`web.places`), and silences it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from murmura.server.http.connections import ConnectionLimits
from tests.http.network import people
from tests.http.processes import MURMURA, write_table
from tests.ports import free_ports
from tests.web.server import HONEST, asked, patiently

ADDRESSES, EACH = 32, 128
SOON = 1.0  # seconds in which everybody else is answered
LONG = "/assets/app.js"
PATIENT = """
import functools
from murmura.server.http import connections
made = connections.ConnectionLimits
connections.ConnectionLimits = functools.partial(made, handshake=1e6, header=1e6, idle=1e6, stalled=1e6)
"""  # no connection ends by itself
UNSHED = "connections.Places._shed = lambda places: False\n"
ASKS = b"GET %s HTTP/1.1\r\nhost: x\r\n\r\n"
SAID = {
    "idle": ASKS % b"/healthz",
    "trickling": b"GET /healthz HTTP/1.1\r\nname: ",
    "not reading": ASKS % LONG.encode(),
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="asks Linux who had the processor"),
]


@pytest.fixture(scope="module", params=[True, False], ids=["sheds", "victim"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[int, int, bool]]:
    """The port of a coordinator, its process, and whether it sheds."""
    folder = tmp_path_factory.mktemp("crowds")
    table, (port,) = write_table(people(), folder / "likes.csv"), free_ports(1)
    words = [
        "serve",
        "--state",
        folder / "state",
        "--like",
        table,
        "--readable",
        "--minimum",
        2,
        "--port",
        port,
    ]
    words += ["--admission", "open", "-S", "clients=12", "--rate", 100_000]
    start = [sys.executable, "-c", PATIENT + ("" if request.param else UNSHED) + MURMURA[-1]]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*start, *map(str, words)], stderr=log)
    try:
        patiently(lambda: process.poll() is not None or asked(port) == 200)
        assert process.poll() is None, (folder / "log").read_text()
        yield port, process.pid, request.param
        assert "Traceback" not in (folder / "log").read_text()
    finally:
        process.terminate()
        process.wait()


@contextmanager
def crowd(port: int, said: bytes) -> Iterator[list[socket.socket]]:
    """Connections from many addresses, all of which have said the same; nothing is read from them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        made = []
        for number in range(ADDRESSES * EACH):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.bind((f"127.0.1.{1 + number % ADDRESSES}", 0))
            one.connect((HONEST, port))
            one.sendall(said)
            one.setblocking(False)
            made.append(one)
        yield made


def has_come(one: socket.socket) -> bool:
    """Whether something was read from a connection, which then ends or goes on."""
    with contextlib.suppress(BlockingIOError):
        one.recv(1, socket.MSG_PEEK)
        return True
    return False


def waited(pid: int) -> float:
    """Seconds for which a process could have gone on, but others had the processor (Linux)."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


@pytest.mark.parametrize("kind", SAID)
def test_everybody_else_is_answered_within_a_second(server: tuple[int, int, bool], kind: str) -> None:
    """Of the machine's own time: what other processes take of it is not the server's."""
    port, pid, sheds = server
    assert ConnectionLimits().most == ADDRESSES * EACH
    patiently(lambda: asked(port) == 200)  # those of the test before have gone
    with crowd(port, SAID[kind]) as enemies:
        if kind == "trickling":
            time.sleep(0.5)  # until the last of them has its place
        else:
            patiently(lambda: has_come(enemies[-1]))
        for honest in range(8):
            if kind == "trickling":
                for one in enemies:
                    with contextlib.suppress(OSError):
                        one.send(b"x")
            began, others = time.monotonic(), waited(pid) + waited(os.getpid())
            assert asked(port, source=f"127.0.0.{1 + honest % 4}") == (200 if sheds else 0)
            took = time.monotonic() - began - (waited(pid) + waited(os.getpid()) - others)
            assert took < SOON or not sheds
