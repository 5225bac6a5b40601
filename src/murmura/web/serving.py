"""uvicorn with our limits: one process, TLS by certificate files, addresses as they are."""

from __future__ import annotations

import asyncio
import ctypes
import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from murmura.core.errors import SettingError
from murmura.runtimes.http.protocol.addresses import is_loopback

if TYPE_CHECKING:
    import uvicorn

    from murmura.web.app import App
    from murmura.web.connections import ConnectionLimits

LOOPBACK = ("127.0.0.0/8", "::1/128")
OTHER_FILES = 256  # that a server may have open beside its connections
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as glibc numbers them
KEPT_MEMORY = 32 << 20  # bytes that were freed and stay with the process


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
    from murmura.web.connections import ConnectionLimits

    keep_freed_memory()
    limits = limits or ConnectionLimits()
    server, opened = make_server(app, address, limits)
    run(server, opened, limits)


def keep_freed_memory() -> bool:
    """Let glibc keep what bodies took for the next one; whether it is there to be told.

    By default it gives memory of that size back each time, and every 4 kB that are asked for again cost a page
    fault: with uploads of 300 kB a fifth of a server's time.
    """
    try:
        told = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # another C library, which has its own way
        return False
    return bool(told(MMAP_THRESHOLD, KEPT_MEMORY) and told(TRIM_THRESHOLD, KEPT_MEMORY))


def make_server(
    app: App[Any], address: ListenAddress, limits: ConnectionLimits
) -> tuple[uvicorn.Server, socket.socket]:
    """A server and what it listens on."""
    import uvicorn

    from murmura.web.connections import TimedProtocol, listen
    from murmura.web.limits import Places

    http: Any = partial(TimedProtocol, limits)
    config = uvicorn.Config(
        app,
        http=http,
        ws="none",
        ssl_certfile=address.certificate,
        ssl_keyfile=address.private_key,
        log_level="error",  # a line for every senseless request would fill a disk
        access_log=False,  # addresses of people are nobody's business
        timeout_keep_alive=limits.idle,  # type: ignore[arg-type]  # seconds, which asyncio takes in parts too
        timeout_graceful_shutdown=2,
        backlog=2048,
        server_header=False,
        proxy_headers=bool(address.proxies),
        forwarded_allow_ips=list(address.proxies),
    )
    places = Places(min(limits.most, _open_files() - OTHER_FILES), limits.each, _within(address.proxies))
    return uvicorn.Server(config), listen(address.host, address.port, places)


def run(server: uvicorn.Server, opened: socket.socket, limits: ConnectionLimits) -> None:
    """Answer on an open socket."""
    from murmura.web.connections import TimedLoop

    with asyncio.Runner(loop_factory=partial(TimedLoop, limits.handshake)) as runner:
        runner.run(server.serve([opened]))


def _within(networks: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether an address is a proxy's: all its clients share its connections."""
    known = [ipaddress.ip_network(one) for one in networks]

    def within(address: str) -> bool:
        try:
            found = ipaddress.ip_network(address)
        except ValueError:
            return False
        return any(one.version == found.version and one.overlaps(found) for one in known)

    return within


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
