"""Whose request it is: the client behind a proxy, and the page of another origin.

X-Forwarded-For is believed where the operator said so. A browser asks before it sends to another origin (CORS,
the Fetch standard), and shows a page no answer that does not name its origin. Devices that are no browsers are
not bound by it, so nothing here decides who may take part.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from murmura.core.errors import SettingError
from murmura.wire.transport import VERSION_HEADER, HttpReply

REMEMBERED = 4096  # addresses of which it is known whether they are a proxy's
LONGEST = 64  # characters of an address


class Proxies:
    """The networks whose word on where a request comes from is taken."""

    def __init__(self, networks: tuple[str, ...]) -> None:
        self._networks = [ipaddress.ip_network(one) for one in networks]
        self._known = lru_cache(REMEMBERED)(self._look)

    def has(self, address: str) -> bool:
        """Whether an address is a proxy's: all its clients share its connections."""
        return bool(self._networks) and len(address) <= LONGEST and self._known(address)

    def _look(self, address: str) -> bool:
        try:
            found = ipaddress.ip_network(address)
        except ValueError:
            return False
        return any(one.version == found.version and one.overlaps(found) for one in self._networks)

    def client(self, peer: str, forwarded: str | None) -> str:
        """The last address on the way that is no proxy's; `forwarded` is the header as it came."""
        if not forwarded or not self.has(peer):
            return peer
        named = [_host(one.strip()) for one in forwarded.split(",")]
        return next((one for one in reversed(named) if not self.has(one)), named[0]) or peer


def _host(named: str) -> str:
    """An address without its port."""
    if named.startswith("["):
        return named[1:].partition("]")[0]
    return named.partition(":")[0] if named.count(":") == 1 else named


MAX_AGE = 600  # seconds for which a browser need not ask again


@dataclass(frozen=True)
class PageOrigin:
    """The one origin whose page may send shares here."""

    origin: str

    @staticmethod
    def of(url: str) -> PageOrigin:
        """The origin of an address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
            raise SettingError(
                f"--page-origin must be an address such as https://films.example, but it is '{url}'."
            )
        return PageOrigin(f"{parts.scheme}://{parts.netloc}")

    @property
    def headers(self) -> dict[str, str]:
        """What every answer says, whoever asks."""
        return {"access-control-allow-origin": self.origin, "vary": "origin"}

    def preflight(self) -> HttpReply:
        """Which requests its page may make."""
        return HttpReply(
            204,
            b"",
            {
                "access-control-allow-methods": "POST",
                "access-control-allow-headers": f"content-type, {VERSION_HEADER}",
                "access-control-max-age": str(MAX_AGE),
            },
        )
