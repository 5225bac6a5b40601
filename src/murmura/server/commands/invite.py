"""`murmura invite`: who may take part in a federation; run by whoever admits, not by the coordinator."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.console import say, table
from murmura.device.commands import federation_options

if TYPE_CHECKING:
    from murmura.server.admissions import Admitter

invite_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Invite devices to a federation, and take it back."
)
State = Annotated[
    Path, typer.Option("--state", help="The admitter's folder: by default that of the seed aggregator.")
]
Federation = Annotated[
    str, typer.Option("--federation", metavar="URL", help="The coordinator as devices reach it.")
]
Picture = Annotated[
    Path | None, typer.Option("--qr", help="Also a QR picture each: a folder for SVG files, or - to draw here.")
]


@invite_app.command("create")
@federation_options.reaches_others
def create(
    state: State,
    n: Annotated[int, typer.Option("--n", min=1, max=100_000, help="How many invitations.")] = 1,
    label: Annotated[str, typer.Option("--label", help="A note for your own list.")] = "",
    days: Annotated[float, typer.Option("--days", min=0, help="Valid for so many days; 0: always.")] = 0,
    federation: Federation = "",
    out: Annotated[Path | None, typer.Option("--out", help="Write the links to a new file.")] = None,
    browser: Annotated[
        bool, typer.Option("--browser", help="Links to the page, for browsers as devices.")
    ] = False,
    qr: Picture = None,
    others: federation_options.Others = federation_options.DIRECT,
) -> None:
    """Sign one-use invitations and print their links. A link is a secret: give each to one person.

    The link pins the federation's keys, method, minimum and noise; whoever has it can take part as one device.
    """
    from murmura.core.files import write_whole

    with _admitter(state) as admitter:
        _find_federation(admitter, federation, others)
        signed = admitter.invite(n, label, days)
        links = [one.page() if browser else one.link() for one in signed]
    if out is None:
        for link in links:
            typer.echo(link)
    else:
        write_whole(out, "".join(f"{link}\n" for link in links).encode(), mode=0o600)
        say(f"wrote {n} invitation{'s' * (n > 1)} to {out}; each is a secret for one person.")
    if qr is not None:
        _draw(links, qr)


@invite_app.command("list")
def show(state: State, as_json: options.Json = False) -> None:
    """List the invitations that were signed; their links are kept nowhere."""
    with _admitter(state) as admitter:
        issued = admitter.issued()
    if as_json:
        typer.echo(json.dumps([{**vars(one), "admission": one.admission.hex()} for one in issued]))
        return
    rows = [
        [
            str(one.number),
            one.label,
            _day(one.created),
            _day(one.expires),
            _day(one.revoked),
            one.admission.hex()[:16],
        ]
        for one in issued
    ]
    table("invitations", ["number", "label", "created", "expires", "revoked", "admission"], rows, text=True)


@invite_app.command("revoke")
@federation_options.reaches_others
def revoke(
    state: State,
    numbers: Annotated[list[int], typer.Argument(help="Their numbers in `murmura invite list`.")],
    others: federation_options.Others = federation_options.DIRECT,
) -> None:
    """Take invitations back: the aggregators count them no longer, and their places are free.

    If a machine cannot be told, the command says which and can be given again.
    """
    from murmura.wire.refusals import RefusedError, UnreachableError
    from murmura.wire.transport import Transport, ask

    with _admitter(state) as admitter:
        terms, url = admitter.terms, admitter.url
        message = admitter.revoke(numbers)
    machines = [] if terms is None else terms.aggregators
    addresses = [*(one.url for one in machines), url]

    async def tell_all(send: Transport) -> list[str]:
        missed = []
        for address in addresses:
            try:
                await ask(send, "POST", f"{address}/revocations", message)
            except (RefusedError, UnreachableError) as error:
                missed.append(str(error))
        return missed

    missed = others.talk(tell_all)
    if missed:
        raise UnreachableError(
            f"{len(addresses)} machines must hear of a revocation, but {len(missed)} did not ({missed[0]}): "
            "give the same command again."
        )
    say(f"revoked: {', '.join(map(str, numbers))}; {len(addresses)} machines were told.")


@invite_app.command("key")
def key(state: State) -> None:
    """Print the public key of this admitter, for `murmura serve --admitter`; made the first time."""
    with _admitter(state, new=True) as admitter:
        typer.echo(admitter.key.public.hex())


@contextmanager
def _admitter(state: Path, new: bool = False) -> Iterator[Admitter]:
    """The admitter of a folder; only `invite key` makes a new one, as no federation knows its key yet."""
    federation_options.need("inviting")
    from murmura.core.errors import SettingError
    from murmura.server.admissions import FILE, Admitter
    from murmura.server.database import ServerDatabase

    if not new and not (state / FILE).exists():
        raise SettingError(
            f"{state} must be the folder of whoever admits, but has no {FILE}; give that of the seed "
            "aggregator, or make a key with `murmura invite key`."
        )
    store = ServerDatabase(state / FILE, "admitter")
    try:
        yield Admitter(store)
    finally:
        store.close()


def _find_federation(admitter: Admitter, url: str, others: federation_options.Others) -> None:
    """The federation to invite to: known already, or fetched and pinned."""
    from murmura.core.errors import SettingError
    from murmura.device.trust import agreed_terms

    url = url.rstrip("/") or admitter.url
    if not url:
        raise SettingError("this folder knows no federation yet; say --federation URL.")
    pinned = admitter.terms
    if pinned is None or url != admitter.url:
        fetched = others.talk(lambda send: agreed_terms(send, url, None if pinned is None else pinned.hash))
        admitter.pin(fetched, url)
        say(f"inviting to {fetched.method} at {url}, terms {fetched.hash.hex()}")


def _draw(links: list[str], where: Path) -> None:
    from murmura.core.errors import MissingExtraError

    try:
        import segno
    except ModuleNotFoundError:
        raise MissingExtraError("QR pictures", "serve") from None
    for number, link in enumerate(links, 1):
        picture = segno.make(link, micro=False)
        if str(where) == "-":
            picture.terminal(compact=True)
        else:
            where.mkdir(parents=True, exist_ok=True)
            path = where / f"invitation-{number}.svg"
            picture.save(str(path), scale=4, border=4)
            path.chmod(0o600)


def _day(when: float | None) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(when)) if when else ""
