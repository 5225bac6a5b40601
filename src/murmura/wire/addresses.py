"""Addresses of machines: which host they name, and whether that is this one."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from murmura.wire.refusals import RefusedError

PLAIN = re.compile(
    r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~%/-]*)?", re.ASCII
)


def check_plain(url: str) -> None:
    """Refuse an address that could say more in a list of addresses than where a machine is."""
    if PLAIN.fullmatch(url) is None:
        raise RefusedError(
            "malformed",
            "the address of an aggregator must be scheme://host:port/path in plain characters, but is not.",
        )


def host_of(url: str) -> str:
    """The host of an address, in lower case."""
    try:
        return (urlsplit(url).hostname or "").lower().rstrip(".")
    except ValueError:
        raise RefusedError("malformed", "an address must be a URL, but is not.") from None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: 127.0.0.0/8, ::1 or localhost."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
