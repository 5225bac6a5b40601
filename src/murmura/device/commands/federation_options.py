"""What the commands of a federation have in common: where they listen, whom they trust, how they start."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, fields
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from murmura.cli.console import CONSOLE, say
from murmura.core.errors import MissingExtraError, SettingError

if TYPE_CHECKING:
    from murmura.device.http_transport import HttpTransport
    from murmura.wire.admission import Invitation

T = TypeVar("T")

Url = Annotated[str, typer.Argument(help="The coordinator's address.")]
Fingerprint = Annotated[
    str, typer.Option("--fingerprint", help="The hash of its terms, if you have no invitation but know it.")
]
Readable = Annotated[
    bool, typer.Option("--readable", help="Allow rounds in which the server can read each update.")
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Allow sums without noise, which everybody can read in the model.")
]
Epsilon = Annotated[
    float | None,
    typer.Option("--epsilon", min=0, help="Noise must bound what all your uploads reveal to this; then stop."),
]
ReleaseEpsilon = Annotated[
    float | None,
    typer.Option("--release-epsilon", min=0, help="The same of one training or release, as its terms have it."),
]
Authority = Annotated[Path | None, typer.Option("--ca", help="A certificate file: trust it alone in others.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Allow plain HTTP beyond this machine.")]
Proxy = Annotated[str, typer.Option("--proxy", metavar="URL", help="An HTTP proxy to reach others through.")]
TICK = 0.1  # seconds between two looks at whether a round can move on


def need(what: str) -> None:
    """Refuse in one sentence when the extra is not installed."""
    if any(find_spec(name) is None for name in ("cryptography", "httptools", "httpx")):
        raise MissingExtraError(what, "serve")


def warn_insecure(insecure: bool) -> None:
    """Say once that plain HTTP is allowed, and mark every line from now on."""
    if insecure and not CONSOLE.insecure:
        CONSOLE.insecure = True
        say("warning: plain HTTP beyond this machine is allowed: everyone on the way can read it.", always=True)


@dataclass(frozen=True)
class Others:
    """How other machines are reached, and whose certificates are trusted."""

    authority: Authority = None
    insecure: Insecure = False
    proxy: Proxy = ""

    def __post_init__(self) -> None:
        warn_insecure(self.insecure)

    def way_to(self, *urls: str) -> HttpTransport:
        """The way to machines an operator has named; refuses addresses that are not for others' ears."""
        from murmura.wire.refusals import RefusedError

        made = self.transport()
        try:
            for url in urls:
                made.check(url)
        except RefusedError as error:
            raise SettingError(str(error)) from None
        return made

    def transport(self, connections: int = 32, seconds: float = 30.0) -> HttpTransport:
        """The way to them."""
        from murmura.device.http_transport import HttpTransport

        return HttpTransport(self.authority, connections, seconds, insecure=self.insecure, proxy=self.proxy)

    def talk(self, what: Callable[[HttpTransport], Coroutine[Any, Any, T]], **more: int) -> T:
        """What comes of talking with them; `more` says how many connections, and how patient."""
        import asyncio

        async def connected() -> T:
            async with self.transport(**more) as send:
                return await what(send)

        return asyncio.run(connected())


DIRECT = Others()


def takes(kind: type, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags that are the fields of a class, which it gets as its one argument `name`."""

    def taking(command: Callable[..., None]) -> Callable[..., None]:
        own, keyword = inspect.signature(command, eval_str=True), inspect.Parameter.KEYWORD_ONLY
        hints, said = get_type_hints(kind, include_extras=True), own.parameters[name].default
        flags = [
            inspect.Parameter(one.name, keyword, default=getattr(said, one.name), annotation=hints[one.name])
            for one in fields(kind)
        ]

        @wraps(command)
        def called(**given: Any) -> None:
            made = kind(**{flag.name: given.pop(flag.name) for flag in flags})
            command(**given, **{name: made})

        asked = [one.replace(kind=keyword) for one in own.parameters.values()]
        place = list(own.parameters).index(name)
        signature = own.replace(parameters=[*asked[:place], *flags, *asked[place + 1 :]])
        called.__signature__ = signature  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
        return called

    return taking


reaches_others = takes(Others, "others")


def public_key(flag: str, text: str) -> bytes | None:
    """The key a flag gives; None where it gives none."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b"?"
    if key and len(key) != 32:
        raise SettingError(f"{flag} must be 64 hexadecimal digits, but it is not.")
    return key or None


def federation(text: str, fingerprint: str = "") -> Invitation:
    """The federation of an invitation, or at an address; its terms are b"" where nobody says which it is."""
    from murmura.wire.admission import Invitation
    from murmura.wire.refusals import RefusedError

    if not text.startswith("murmura"):
        return Invitation(text.rstrip("/"), public_key("--fingerprint", fingerprint) or b"")
    try:
        return Invitation.read(text)
    except RefusedError as error:
        raise SettingError(str(error)) from None


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
