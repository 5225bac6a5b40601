"""The network itself, with httpx and httpcore: the only file that knows them.

Beyond this machine everything is HTTPS; of a reply no more is read than its asker wants, as it was sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from murmura.core.errors import MissingExtraError, SettingError
from murmura.wire.refusals import RefusedError, UnreachableError, malformed
from murmura.wire.transport import REPLY_BYTES, HttpReply, check_length, is_loopback

if TYPE_CHECKING:
    import httpx


HELD = 64 << 10  # bytes that may wait


class WholeRequests:
    """A network of httpcore whose connections send whole requests."""

    def __init__(self, network: Any) -> None:
        self._network = network

    async def connect_tcp(self, *args: Any, **named: Any) -> OneWrite:
        """A connection to a machine."""
        return OneWrite(await self._network.connect_tcp(*args, **named))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)


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

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def _send(self, timeout: float | None) -> None:
        held, self._held = self._held, b""
        if held:
            await self._stream.write(held, timeout)


SECONDS = 30.0  # of silence
SLOWEST = 8192  # bytes a second: an exchange takes at most its seconds of silence and its bytes at this speed
LINE_BYTES = 4096  # of a line of an event stream
QUIET = 60.0  # seconds between two signs of life on one


class HttpTransport:
    """Requests over HTTPS, and over HTTP on this machine alone, or anywhere if `insecure`.

    Certificates are checked against the system's trust store, or against the `authority` file and nothing else.
    What goes beyond this machine goes through `proxy` if there is one; nothing is read from the environment.
    Many devices in one process wait for each other, so they need more `connections` and more `seconds`.
    """

    def __init__(
        self,
        authority: Path | None = None,
        connections: int = 32,
        seconds: float = SECONDS,
        *,
        insecure: bool = False,
        proxy: str = "",
    ) -> None:
        self._httpx = _httpx()
        self._insecure, self._seconds = insecure, seconds
        # httpx looks at every waiting request each time one comes or goes: thousands must wait outside it
        self._places = asyncio.Semaphore(connections)
        limits = self._httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        context = _trust(authority)

        def client(**more: Any) -> httpx.AsyncClient:
            network = self._httpx.AsyncHTTPTransport(verify=context, limits=limits, trust_env=False, **more)
            network._pool._network_backend = WholeRequests(network._pool._network_backend)
            made: httpx.AsyncClient = self._httpx.AsyncClient(
                timeout=self._httpx.Timeout(seconds, pool=None),
                transport=network,
                trust_env=False,
                headers={"accept-encoding": "identity"},
            )
            return made

        self._near = client()
        self._far = client(proxy=self._checked_proxy(proxy)) if proxy else self._near

    async def __aenter__(self) -> HttpTransport:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in {self._near, self._far}:
            await client.aclose()

    async def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        """The reply, whatever its status; one whose body has more than `largest` bytes is refused unread."""
        async with self._places:
            limit = self._seconds + (len(body) + largest) / SLOWEST
            try:
                async with asyncio.timeout(limit), self._reply(method, url, body, headers) as reply:
                    declared = reply.headers.get("content-length", "")
                    check_length(url, int(declared) if declared.isdecimal() else 0, largest)
                    parts, length = [], 0
                    async for part in reply.aiter_raw():
                        length += len(part)
                        check_length(url, length, largest)
                        parts.append(part)
            except TimeoutError:
                raise UnreachableError(f"{url} must answer within {limit:.0f} s, but has not.") from None
        return HttpReply(reply.status_code, b"".join(parts), {k.lower(): v for k, v in reply.headers.items()})

    async def lines(self, url: str) -> AsyncIterator[str]:
        """The lines of a stream of events, as they come; ends when the stream does."""
        quiet = self._httpx.Timeout(SECONDS, read=QUIET)
        try:
            async with self._reply("GET", url, b"", {}, timeout=quiet) as reply:
                if reply.status_code != 200:
                    raise RefusedError.read(reply.status_code, b"")
                begun = b""
                async for part in reply.aiter_raw():
                    *whole, begun = (begun + part).split(b"\n")
                    check_length(url, len(begun), LINE_BYTES)
                    for line in whole:
                        yield line.decode(errors="replace").rstrip("\r")
        except RefusedError as error:  # whoever listens can ask instead
            raise UnreachableError(str(error)) from None

    @asynccontextmanager
    async def _reply(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], **more: Any
    ) -> AsyncIterator[httpx.Response]:
        """The head of a reply, whose body can be read on; anything but its own bytes is refused."""
        try:
            near = self.check(url)
            client = self._near if near else self._far
            sending = client.stream(method, url, content=body or None, headers=dict(headers), **more)
            async with sending as reply:
                encoding = reply.headers.get("content-encoding", "identity")
                if encoding.lower() != "identity":
                    raise malformed(f"the reply of {url} must not be compressed, but is; it was not read.")
                yield reply
        except (self._httpx.HTTPError, self._httpx.InvalidURL, ssl.SSLError) as error:
            raise _unreachable(url, error) from None

    def check(self, url: str) -> bool:
        """Whether an address is on this machine; refuses plain HTTP to any other."""
        parsed = self._httpx.URL(url)  # as it will be called: two readings of one address could differ
        near = is_loopback(parsed.host)
        if parsed.scheme != "https" and not near and not self._insecure:
            raise malformed(
                f"{parsed.scheme}://{parsed.netloc.decode()} must be an https address, as everyone on the way "
                "reads plain HTTP; ask for one, or say --insecure."
            )
        return near

    def _checked_proxy(self, proxy: str) -> Any:
        try:
            return self._httpx.Proxy(proxy)
        except (ValueError, self._httpx.InvalidURL):
            raise SettingError("--proxy must be the address of an HTTP proxy, but is not.") from None


def _unreachable(url: str, error: Exception) -> UnreachableError:
    why = str(error) or type(error).__name__
    return UnreachableError(f"{url} must answer, but does not ({why}); check the address and that it runs.")


def _trust(authority: Path | None) -> ssl.SSLContext:
    """The system's trust store, or one certificate file and nothing else."""
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise SettingError(f"{authority} must be a certificate file, but is not ({error}).") from None


def _httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError:
        raise MissingExtraError("a federation over HTTP", "serve") from None
    return httpx
