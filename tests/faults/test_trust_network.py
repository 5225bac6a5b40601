"""A hostile network and hostile answers: what leaves a machine in the clear, and what an answer may cost it.

Every attack also meets a victim whose check the test has taken out, and succeeds.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from murmura.cli.console import CONSOLE
from murmura.core.errors import SettingError
from murmura.device import http_transport
from murmura.device.commands.federation_options import Others
from murmura.device.http_transport import HttpTransport
from murmura.server.http.serving import LOOPBACK, ListenAddress, proxy_networks
from murmura.wire.refusals import RefusedError, UnreachableError
from murmura.wire.transport import REPLY_BYTES, bearer, is_loopback
from tests.http.certificates import NAME, certificate
from tests.http.network import people
from tests.http.processes import MURMURA, get, served, write_table
from tests.web.server import MEGABYTE, NEVER, PLENTY, Machine, asked, toy

pytestmark = pytest.mark.slow
BOMB = 96 * MEGABYTE
Talk = Callable[[socket.socket], None]


@contextmanager
def answering(talk: Talk, listener: socket.socket | None = None) -> Iterator[int]:
    """A server that says what the test wants to whoever connects."""
    with listener or socket.create_server(("127.0.0.1", 0)) as opened:

        def serve() -> None:
            while True:
                try:
                    one, _ = opened.accept()
                except OSError:
                    return
                with contextlib.suppress(OSError), one:
                    one.settimeout(300)
                    talk(one)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield opened.getsockname()[1]
        finally:
            opened.shutdown(socket.SHUT_RDWR)
            thread.join()


def heard(one: socket.socket) -> bytes:
    """A request without a body."""
    said = b""
    while b"\r\n\r\n" not in said:
        part = one.recv(1 << 16)
        if not part:
            break
        said += part
    return said


def reply(head: bytes, *parts: bytes, keep: threading.Event | None = None) -> Talk:
    def talk(one: socket.socket) -> None:
        heard(one)
        one.sendall(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n")
        for part in parts:
            one.sendall(part)
        if keep is not None:
            keep.wait()

    return talk


async def fetched(url: str, largest: int = REPLY_BYTES, **named: float) -> bytes:
    async with HttpTransport(**named) as send:  # type: ignore[arg-type]
        return (await send("GET", url, b"", {}, largest=largest)).body


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """Zeros that shrink a thousandfold; a seventeenth of the one that was sent once."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([packer.compress(bytes(MEGABYTE)) for _ in range(BOMB // MEGABYTE)]) + packer.flush()


@pytest.mark.smoke
def test_a_compressed_answer_is_not_expanded(bomb: bytes) -> None:
    head = b"content-encoding: gzip\r\ncontent-length: %d" % len(bomb)
    with answering(reply(head, bomb)) as port:
        url = f"http://127.0.0.1:{port}/m/1"
        with pytest.raises(RefusedError, match="must not be compressed, but is"):
            asyncio.run(fetched(url))
        assert len(bomb) < REPLY_BYTES  # its own length would not have given it away
        assert len(httpx.get(url, trust_env=False).content) == BOMB  # a client that believes the header


@pytest.mark.smoke
def test_an_answer_is_asked_for_as_it_is() -> None:
    seen: list[bytes] = []

    def talk(one: socket.socket) -> None:
        seen.append(heard(one))
        one.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    with answering(talk) as port:
        assert asyncio.run(fetched(f"http://127.0.0.1:{port}/")) == b"ok"
    assert b"accept-encoding: identity\r\n" in seen[0].lower()


@pytest.mark.smoke
@pytest.mark.parametrize("declared", [True, False])
def test_no_more_of_an_answer_is_read_than_is_wanted(declared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"content-length: %d" % BOMB if declared else b"connection: close"
    with answering(reply(head, *[bytes(MEGABYTE)] * (BOMB // MEGABYTE))) as port:
        url = f"http://127.0.0.1:{port}/m/1"
        with pytest.raises(
            RefusedError, match=f"must have at most {REPLY_BYTES} bytes, but has more"
        ) as refused:
            asyncio.run(fetched(url))
        assert refused.value.code == "oversize"
        monkeypatch.setattr(http_transport, "check_length", lambda url, length, largest: None)
        assert len(asyncio.run(fetched(url))) == BOMB


def test_an_answer_that_trickles_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte ends the silence; only all of them together take too long."""
    monkeypatch.setattr(http_transport, "SLOWEST", 1e9)
    stop = threading.Event()

    def talk(one: socket.socket) -> None:
        heard(one)
        one.sendall(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
        while not stop.wait(0.01):
            one.sendall(b"x")

    with answering(talk) as port:
        try:
            with pytest.raises(UnreachableError, match="must answer"):
                asyncio.run(fetched(f"http://127.0.0.1:{port}/", seconds=0.5))
            monkeypatch.setattr(http_transport, "SLOWEST", 1)

            async def victim() -> None:
                async with asyncio.timeout(1.5):
                    await fetched(f"http://127.0.0.1:{port}/", seconds=300.0)

            with pytest.raises(TimeoutError):
                asyncio.run(victim())
        finally:
            stop.set()


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("head", "body"),
    [(b"content-encoding: gzip", b"x"), (b"content-type: text/event-stream", bytes(1 << 20))],
)
def test_announcements_are_no_way_around(head: bytes, body: bytes) -> None:
    async def listen(url: str) -> list[str]:
        async with HttpTransport() as send:
            return [line async for line in send.lines(url)]

    with (
        answering(reply(head, body)) as port,
        pytest.raises(UnreachableError, match=r"compressed|at most 4096 bytes"),
    ):
        asyncio.run(listen(f"http://127.0.0.1:{port}/events"))
    with answering(reply(head, b"data: a\r\nda", b"ta: b\n")) as port:
        if b"gzip" not in head:
            assert asyncio.run(listen(f"http://127.0.0.1:{port}/events")) == ["data: a", "data: b"]


@pytest.mark.smoke
@pytest.mark.parametrize("checked", [True, False])
def test_plain_http_does_not_leave_this_machine(checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name whose address the test decides: a listener on the way would have the token."""
    seen: list[bytes] = []

    def talk(one: socket.socket) -> None:
        seen.append(heard(one))
        one.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *more, **named: resolve("127.0.0.1", *more, **named)
    )

    async def ask(url: str) -> None:
        async with HttpTransport() as send:
            await send("GET", url, b"", bearer("secret"))

    with answering(talk) as port:
        if checked:
            for url in (
                f"http://{NAME}:{port}/round",
                f"http://192.0.2.1:{port}/",
                f"http://127.0.0.1@{NAME}:{port}/",
            ):
                with pytest.raises(RefusedError, match=r"must be an https address, .* or say --insecure\."):
                    asyncio.run(ask(url))
            assert seen == []
        else:
            monkeypatch.setattr(HttpTransport, "check", lambda self, url: False)
            asyncio.run(ask(f"http://{NAME}:{port}/round"))
            assert b"secret" in seen[0]


@pytest.mark.smoke
def test_what_is_this_machine() -> None:
    near = ("127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST")
    far = (
        "192.0.2.1",
        "::ffff:127.0.0.1.example",
        "127.0.0.1.example",
        "localhost.example",
        "0.0.0.0",
        "",
        "::",
    )
    assert all(map(is_loopback, near))
    assert not any(map(is_loopback, far))


@pytest.mark.smoke
def test_insecure_is_allowed_only_by_name_and_marks_every_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from murmura.cli.console import say, tell

    monkeypatch.setattr(CONSOLE, "insecure", False)
    url = "http://192.0.2.1"

    async def ways() -> None:
        for insecure in (False, True):
            async with Others(insecure=insecure).transport() as send:
                if insecure:
                    assert send.check(url) is False
                else:
                    with pytest.raises(RefusedError):
                        send.check(url)

    asyncio.run(ways())
    say(f"coordinator at {url}")
    tell({"event": "sent"}, "", as_json=True)
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "warning: plain HTTP beyond this machine is allowed: everyone on the way can read it. [insecure]",
        f"coordinator at {url} [insecure]",
    ]
    assert json.loads(said.out) == {"event": "sent", "insecure": True}


@pytest.mark.process
def test_a_real_device_refuses_plain_http_in_one_sentence(tmp_path: Path) -> None:
    table = write_table(people(), tmp_path / "likes.csv")
    words = ["join", f"http://{NAME}:8400", "--state", tmp_path / "me", "--data", table, "--user", "0"]
    unknown = subprocess.run([*MURMURA, *map(str, words)], capture_output=True, text=True)
    assert (unknown.returncode, "on the way could answer for it" in unknown.stderr) == (2, True)
    words.append("--first-contact")
    made = subprocess.run([*MURMURA, *map(str, words)], capture_output=True, text=True)
    assert made.returncode == 6
    assert made.stderr == (
        f"error: http://{NAME}:8400 must be an https address, as everyone on the way reads plain HTTP; "
        "ask for one, or say --insecure.\n"
    )
    assert not (tmp_path / "me" / "device.json").exists()


def test_with_an_authority_of_its_own_a_device_trusts_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's certificate is in the system's store; whoever has pinned another one refuses it."""
    for name in ("system", "pinned"):
        (tmp_path / name).mkdir()
    (cert, key), (other, _) = certificate(tmp_path / "system"), certificate(tmp_path / "pinned")
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))

    async def ask(authority: Path | None, port: int) -> int:
        async with HttpTransport(authority) as send:
            return (await send("GET", f"https://127.0.0.1:{port}/healthz", b"", {})).status

    with toy(address=ListenAddress("127.0.0.1", 0, cert, key)) as port:
        assert asyncio.run(ask(None, port)) == 200
        assert asyncio.run(ask(cert, port)) == 200
        with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
            asyncio.run(ask(other, port))

        def besides(cafile: Path) -> ssl.SSLContext:
            context = ssl.create_default_context()
            context.load_verify_locations(cafile)
            return context

        monkeypatch.setattr(http_transport, "_trust", besides)
        assert asyncio.run(ask(other, port)) == 200


def test_a_device_may_use_a_proxy_which_reads_nothing(tmp_path: Path) -> None:
    """It is asked for the way to the server alone; what is on this machine does not go through it."""
    cert, key = certificate(tmp_path)
    seen: list[bytes] = []

    async def ask(proxy: str, url: str) -> int:
        async with HttpTransport(cert, proxy=proxy) as send:
            return (await send("GET", url, b"", bearer("secret"))).status

    with toy(address=ListenAddress("127.0.0.1", 0, cert, key)) as port:

        def proxy(one: socket.socket) -> None:
            seen.append(heard(one))
            one.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            with socket.create_connection(("127.0.0.1", port)) as there:
                back = threading.Thread(target=carry, args=(there, one, []))
                back.start()
                carry(one, there, seen)
                back.join()

        with answering(proxy) as way:
            url = f"http://127.0.0.1:{way}"
            assert asyncio.run(ask(url, f"https://{NAME}/healthz")) == 200
            assert seen[0].startswith(f"CONNECT {NAME}:443 ".encode())
            assert b"secret" not in b"".join(seen)
            before = len(seen)
            assert asyncio.run(ask(url, f"https://127.0.0.1:{port}/healthz")) == 200
            assert len(seen) == before
            with pytest.raises(RefusedError, match="must be an https address"):
                asyncio.run(ask(url, f"http://{NAME}/healthz"))
    with pytest.raises(SettingError, match="--proxy must be the address of an HTTP proxy"):
        HttpTransport(proxy="gopher://x")


def carry(here: socket.socket, there: socket.socket, seen: list[bytes]) -> None:
    with contextlib.suppress(OSError):
        while part := here.recv(1 << 16):
            seen.append(part)
            there.sendall(part)
        there.shutdown(socket.SHUT_WR)


@pytest.mark.smoke
def test_nothing_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with toy() as port:
        assert asyncio.run(fetched(f"http://127.0.0.1:{port}/healthz")) == b'{"ok": true}'


@pytest.mark.smoke
@pytest.mark.parametrize("checked", [True, False])
def test_an_invented_address_is_not_believed(checked: bool) -> None:
    """Whoever is behind a proxy believes the proxy: then, and from it alone."""
    limits = replace(PLENTY, registrations=1 / NEVER, registration_burst=3.0)
    machine = Machine()
    proxies = () if checked else LOOPBACK
    with toy(limits, machine=machine, address=ListenAddress(port=0, proxies=proxies)) as port:
        got = [asked(port, "POST", "/devices", X_Forwarded_For=f"192.0.2.{n}") for n in range(10)]
        again = [asked(port, "POST", "/devices", X_Forwarded_For="192.0.2.1") for _ in range(3)]
        assert asked(port) == 200  # what is no registration is counted elsewhere
    assert got == ([200] * 3 + [429] * 7 if checked else [200] * 10)
    assert again == ([429] * 3 if checked else [200] * 2 + [429])
    assert machine.registered == (3 if checked else 12)


@pytest.mark.smoke
def test_only_the_proxy_that_is_named_is_believed() -> None:
    limits = replace(PLENTY, registrations=1 / NEVER, registration_burst=1.0)
    with toy(limits, address=ListenAddress(port=0, proxies=proxy_networks(["127.0.0.3"]))) as port:
        for source, wanted in (("127.0.0.3", [200, 200]), ("127.0.0.1", [200, 429])):
            found = [
                asked(port, "POST", "/devices", source=source, X_Forwarded_For=f"192.0.2.{n}{len(source)}")
                for n in ((1, 2) if source == "127.0.0.3" else (3, 4))
            ]
            assert found == wanted
    assert proxy_networks(["loopback", "192.0.2.0/24"]) == (*LOOPBACK, "192.0.2.0/24")


@pytest.mark.process
def test_an_outsider_gets_few_places_of_a_real_coordinator(tmp_path: Path) -> None:
    """As many as one address may have at once, whatever addresses it invents."""
    table = write_table(people(60), tmp_path / "likes.csv")
    options = ("--like", table, "-S", "clients=60", "--registrations", 0.001, "--admission", "open")
    with served(tmp_path, *options) as place:
        place.agreed()
        port = int(place.url.rpartition(":")[2])
        got = [asked(port, "POST", "/devices", X_Forwarded_For=f"192.0.2.{n}") for n in range(40)]
        assert got == [200] * 20 + [429] * 20
        assert asked(port, "POST", "/devices", source="127.0.0.9") == 200
        assert json.loads(get(f"{place.url}/federation"))["state"] == "paused"
