"""What the commands of a federation have in common: where they listen, whom they trust, how they start."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from murmura.core.errors import MissingExtraError, SettingError

if TYPE_CHECKING:
    from murmura.runtimes.http.protocol.http_transport import HttpTransport

T = TypeVar("T")

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


def talk(authority: Path | None, what: Callable[[HttpTransport], Coroutine[Any, Any, T]], **more: int) -> T:
    """What comes of talking with other machines; `more` says how many connections, and how patient."""
    import asyncio

    from murmura.runtimes.http.protocol.http_transport import HttpTransport

    async def connected() -> T:
        async with HttpTransport(authority, **more) as send:
            return await what(send)

    return asyncio.run(connected())


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
