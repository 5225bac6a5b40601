"""A server: one process, TLS by certificate files, addresses as they are; it ends in order when told to."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import ipaddress
import signal
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmura.core.errors import SettingError
from murmura.server.http.connections import BACKLOG, ConnectionLimits, CountedListener, Places, listen
from murmura.server.http.http_protocol import HttpProtocol, Service
from murmura.server.http.limits import Proxies
from murmura.server.http.machine_app import App
from murmura.wire.transport import is_loopback

LOOPBACK = ("127.0.0.0/8", "::1/128")
OTHER_FILES = 256  # that a server may have open beside its connections
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as glibc numbers them
LAST_REPLIES = 2.0  # seconds for what was asked before the server was told to end
SIGNALS = (signal.SIGINT, signal.SIGTERM)
ONLY_TLS = {"strict-transport-security": "max-age=31536000"}  # browsers ask this host without TLS no more
RETAINED_MEMORY = 32 << 20  # bytes that were freed and stay with the process


@dataclass(frozen=True)
class ListenAddress:
    """Where a server listens; `proxies` are the networks whose X-Forwarded-For is believed."""

    host: str = "127.0.0.1"
    port: int = 8400
    certificate: Path | None = None
    private_key: Path | None = None
    insecure: bool = False
    proxies: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """As others would call it."""
        scheme = "https" if self.certificate else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"

    def check(self) -> None:
        """Refuse half a pair of certificate files, plain HTTP beyond this machine, and a port that is taken."""
        if (self.certificate is None) != (self.private_key is None):
            raise SettingError("TLS needs both --tls-cert and --tls-key, but only one is given.")
        for path in (self.certificate, self.private_key):
            if path is not None and not path.is_file():
                raise SettingError(f"{path} must be a certificate or key file, but there is none.")
        if self.certificate is None and not is_loopback(self.host) and not self.insecure:
            raise SettingError(
                f"{self.url} must be an https address, as everyone on the way reads plain HTTP; give "
                "--tls-cert and --tls-key, listen on 127.0.0.1 behind a proxy that has them, or say --insecure."
            )
        try:
            with socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((self.host, self.port))
        except OSError as error:
            raise SettingError(
                f"{self.host}:{self.port} must be free to listen on, but is not ({error.strerror}); "
                "choose another --port."
            ) from None


def proxy_networks(named: list[str]) -> tuple[str, ...]:
    """The networks of --behind-proxy: addresses, networks or the word loopback."""
    found: list[str] = []
    for one in named:
        try:
            found += LOOPBACK if one == "loopback" else [str(ipaddress.ip_network(one))]
        except ValueError:
            raise SettingError(
                f"--behind-proxy must be 'loopback', an address or a network, but it is '{one}'."
            ) from None
    return tuple(found)


def serve(app: App[Any], address: ListenAddress, limits: ConnectionLimits | None = None) -> None:
    """Answer until interrupted."""
    keep_freed_memory()
    Server(app, address, limits or ConnectionLimits()).run()


def keep_freed_memory() -> bool:
    """Let glibc keep what bodies took for the next one; whether it is there to be told.

    By default it gives memory of that size back each time, and every 4 kB that are asked for again cost a page
    fault: with uploads of 300 kB a fifth of a server's time.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # another C library, which has its own way
        return False
    return bool(mallopt(MMAP_THRESHOLD, RETAINED_MEMORY) and mallopt(TRIM_THRESHOLD, RETAINED_MEMORY))


class Server:
    """Answers on a socket from `run` to `stop`."""

    def __init__(self, app: App[Any], address: ListenAddress, limits: ConnectionLimits) -> None:
        proxies = Proxies(address.proxies)
        places = Places(min(limits.most, _open_files() - OTHER_FILES), limits.each, proxies.has)
        self._tls = None if address.certificate is None else _tls(address)
        if self._tls is not None:
            app.always = {**app.always, **ONLY_TLS}
        self._socket = listen(address.host, address.port, places)
        self._service = Service(app, limits, proxies)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._socket.getsockname()[1])

    def run(self) -> None:
        """Answer until stopped or interrupted; a signal takes its usual effect after the last reply."""
        caught: list[int] = []
        with _signals(caught, self.stop):
            asyncio.run(self._serve())
        for one in caught:
            signal.raise_signal(one)

    def stop(self) -> None:
        """Let it end; from any thread."""
        if self._loop is None:
            self._stopping.set()
        else:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._stopping.set)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        answers = answering(self._service, self._socket, self._tls)
        async with self._service.app.running() as background, answers:
            stopped = asyncio.create_task(self._stopping.wait())
            await asyncio.wait((stopped, background), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()


@contextlib.asynccontextmanager
async def answering(
    service: Service, opened: CountedListener, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """While requests on an open socket are answered."""
    service.accepted = opened.accepted
    handshake = service.limits.handshake if tls is not None else None
    server = await asyncio.get_running_loop().create_server(
        lambda: HttpProtocol(service),
        sock=opened,
        ssl=tls,
        backlog=BACKLOG,
        ssl_handshake_timeout=handshake,
        ssl_shutdown_timeout=handshake,
    )
    try:
        yield
    finally:
        server.close()
        service.stopping = True
        for one in tuple(service.connections):
            one.finish()
        until = asyncio.get_running_loop().time() + LAST_REPLIES
        while service.connections and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.01)
        for one in tuple(service.connections):
            one.abort()


def _tls(address: ListenAddress) -> ssl.SSLContext:
    assert address.certificate is not None
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(address.certificate, address.private_key)
    return made


@contextlib.contextmanager
def _signals(caught: list[int], stop: Callable[[], None]) -> Iterator[None]:
    """While signals that end a program are caught: where they can be, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def catch(number: int, _: object) -> None:
        caught.append(number)
        stop()

    before = {one: signal.signal(one, catch) for one in SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _open_files() -> int:
    """How many files may be open, after asking for as many as the system gives."""
    try:
        import resource
    except ModuleNotFoundError:  # no such limit here
        return 1 << 20
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return 1 << 20 if hard == resource.RLIM_INFINITY else hard
    except (OSError, ValueError):
        return soft
