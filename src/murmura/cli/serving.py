"""What the commands of a federation have in common: where they listen, whom they trust, how they start."""

from __future__ import annotations

import os
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.cli.console import say
from murmura.core.errors import MissingExtraError, SettingError

if TYPE_CHECKING:
    from murmura.runtimes.http.aggregator.aggregator import Role
    from murmura.runtimes.http.coordinator.setup import FederationSetup

Url = Annotated[str, typer.Argument(help="The coordinator's address.")]
Readable = Annotated[
    bool, typer.Option("--readable", help="Allow rounds in which the server can read each update.")
]
Host = Annotated[str, typer.Option("--host", help="The address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")]
Certificate = Annotated[Path | None, typer.Option("--tls-cert", help="A certificate file: serve HTTPS.")]
PrivateKey = Annotated[Path | None, typer.Option("--tls-key", help="The certificate's private key.")]
Authority = Annotated[Path | None, typer.Option("--ca", help="A certificate file to trust in others.")]
RateLimit = Annotated[float, typer.Option("--rate", min=1, help="Requests a second from one address.")]
TICK = 0.1  # seconds between two looks at whether a round can move on


def need(what: str) -> None:
    """Refuse in one sentence when the extra is not installed."""
    if any(find_spec(name) is None for name in ("cryptography", "httpx", "starlette", "uvicorn")):
        raise MissingExtraError(what, "serve")


def address(host: str, port: int, certificate: Path | None, private_key: Path | None) -> Any:
    """Where to listen; refuses what cannot work."""
    need("a server")
    from murmura.web.serving import ListenAddress

    made = ListenAddress(host, port, certificate, private_key)
    made.check()
    return made


def public_key(flag: str, text: str) -> bytes | None:
    """The key a flag gives; None where it gives none."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b"?"
    if key and len(key) != 32:
        raise SettingError(f"{flag} must be 64 hexadecimal digits, but it is not.")
    return key or None


def load_or_create_seed(state: Path, given: int | None, fresh: int) -> int:
    """The seed of the federation: given, or drawn once and kept in its folder."""
    from murmura.core.files import write_whole

    path = state / "seed"
    if not path.exists():
        write_whole(path, f"{fresh if given is None else given}\n".encode(), mode=0o600)
    seed = int(path.read_text(encoding="utf-8"))
    if given is not None and given != seed:
        raise SettingError(f"the seed of this folder must stay {seed}, but {given} was given.")
    return seed


def run_coordinator(
    setup: FederationSetup, state: Path, place: Any, rate: float, authority: Path | None, start: bool
) -> None:
    """Serve until interrupted."""
    from murmura.core.files import write_whole
    from murmura.runtimes.http.coordinator.coordinator import Coordinator
    from murmura.runtimes.http.database import ServerDatabase
    from murmura.runtimes.http.endpoints import COORDINATOR
    from murmura.runtimes.http.protocol.http_transport import HttpTransport
    from murmura.web.app import RequestLimits, make_app
    from murmura.web.serving import serve

    _warn(setup)
    coordinator = Coordinator(
        setup, ServerDatabase(state / "coordinator.db", "coordinator"), time.time, os.urandom
    )
    write_whole(state / "operator.token", f"{coordinator.operator_token}\n".encode(), mode=0o600)
    if start and coordinator.rounds.state == "paused":
        coordinator.order("start")
    say(f"coordinator at {place.url}, key {coordinator.key.public.hex()}; token in {state / 'operator.token'}")
    transport = HttpTransport(authority)

    async def move_on() -> None:
        before = coordinator.rounds.counters.abandoned
        await coordinator.rounds.advance(transport)
        if coordinator.rounds.counters.abandoned > before:
            say(f"a round was given up: {coordinator.history(1)[0]['reason']}")

    serve(make_app(coordinator, COORDINATOR, RequestLimits(rate, 10 * rate), move_on, TICK), place)


def _warn(setup: FederationSetup) -> None:
    from murmura.core.channel import READABLE

    least = setup.channel.minimum_cohort
    if setup.channel.channel == "readable":
        say(f"warning: readable mode: {READABLE}.", always=True)
    if least < 100:
        say(f"warning: sums of {least} devices are released; fewer than 100 hide little.", always=True)


def run_aggregator(
    role: Role,
    state: Path,
    minimum: int,
    coordinator_url: str,
    key: bytes | None,
    place: Any,
    rate: float,
    authority: Path | None,
) -> None:
    """Serve until interrupted."""
    from murmura.runtimes.http.aggregator.aggregator import Aggregator
    from murmura.runtimes.http.coordinator.aggregator_pair import fetch_key
    from murmura.runtimes.http.database import ServerDatabase
    from murmura.runtimes.http.endpoints import AGGREGATOR
    from murmura.runtimes.http.protocol.http_transport import HttpTransport
    from murmura.runtimes.http.protocol.refusals import RefusedError, UnreachableError
    from murmura.web.app import RequestLimits, make_app
    from murmura.web.serving import serve

    aggregator = Aggregator(
        role, ServerDatabase(state / "aggregator.db", "aggregator"), time.time, minimum, key
    )
    say(f"{role} aggregator at {place.url}, key {aggregator.key.public.hex()}")
    transport = HttpTransport(authority)

    async def find_coordinator() -> None:
        if aggregator.coordinator is None:
            try:
                found = await fetch_key(transport, coordinator_url)
            except (UnreachableError, RefusedError):
                return
            aggregator.pin(found)
            say(f"the coordinator's key is {found.hex()}; no other is trusted from now on")

    serve(make_app(aggregator, AGGREGATOR, RequestLimits(rate, 10 * rate), find_coordinator, TICK), place)
