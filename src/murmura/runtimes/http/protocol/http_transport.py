"""The network itself, with httpx: the only file that knows it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from murmura.core.errors import MissingExtraError, SettingError
from murmura.runtimes.http.protocol.refusals import UnreachableError
from murmura.runtimes.http.protocol.transport import HttpReply

if TYPE_CHECKING:
    import httpx

SECONDS = 30.0


class HttpTransport:
    """Requests over HTTP or HTTPS; `authority` is a certificate file to trust besides the usual ones.

    Many devices in one process wait for each other, so they need more `connections` and more `seconds`.
    """

    def __init__(self, authority: Path | None = None, connections: int = 32, seconds: float = SECONDS) -> None:
        self._httpx = _httpx()
        # httpx looks at every waiting request each time one comes or goes: thousands must wait outside it
        self._places = asyncio.Semaphore(connections)
        limits = self._httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._client: httpx.AsyncClient = self._httpx.AsyncClient(
            timeout=self._httpx.Timeout(seconds, pool=None),
            limits=limits,
            verify=_trust(authority),
            trust_env=False,
        )

    async def __aenter__(self) -> HttpTransport:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def __call__(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> HttpReply:
        """The reply, whatever its status."""
        try:
            async with self._places:
                reply = await self._client.request(method, url, content=body or None, headers=dict(headers))
        except (self._httpx.HTTPError, self._httpx.InvalidURL, ssl.SSLError) as error:
            raise _unreachable(url, error) from None
        return HttpReply(reply.status_code, reply.content, {k.lower(): v for k, v in reply.headers.items()})

    async def lines(self, url: str) -> AsyncIterator[str]:
        """The lines of a stream of events, as they come; ends when the stream does."""
        try:
            async with self._client.stream("GET", url, timeout=self._httpx.Timeout(SECONDS, read=60)) as reply:
                async for line in reply.aiter_lines():
                    yield line
        except (self._httpx.HTTPError, ssl.SSLError) as error:
            raise _unreachable(url, error) from None


def _unreachable(url: str, error: Exception) -> UnreachableError:
    why = str(error) or type(error).__name__
    return UnreachableError(f"{url} must answer, but does not ({why}); check the address and that it runs.")


def _trust(authority: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if authority is not None:
        try:
            context.load_verify_locations(authority)
        except OSError as error:
            raise SettingError(f"{authority} must be a certificate file, but is not ({error}).") from None
    return context


def _httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError:
        raise MissingExtraError("a federation over HTTP", "serve") from None
    return httpx
