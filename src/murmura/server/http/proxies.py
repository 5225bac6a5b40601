"""Whose request it is behind a proxy: X-Forwarded-For is believed where the operator said so."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

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
