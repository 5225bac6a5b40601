"""Where a server of a federation listens, and what it lets one address ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from murmura.cli.federation_options import need, warn_insecure

BURST = 10  # seconds' worth of requests an address may save up
NEW_DEVICES = 20  # that may come from one address at once


def address(
    host: str,
    port: int,
    certificate: Path | None,
    private_key: Path | None,
    insecure: bool,
    behind_proxy: list[str],
) -> Any:
    """Where to listen; refuses what cannot work."""
    need("a server")
    from murmura.server.http.serving import ListenAddress, proxy_networks

    warn_insecure(insecure)
    made = ListenAddress(host, port, certificate, private_key, insecure, proxy_networks(behind_proxy))
    made.check()
    return made


def request_limits(rate: float, registrations: float) -> Any:
    """What one address may ask for."""
    from murmura.server.http.limits import RequestLimits

    return RequestLimits(rate, BURST * rate, registrations, NEW_DEVICES * max(1.0, registrations))
