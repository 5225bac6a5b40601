"""`murmura log`: anybody's check of what a federation has shown its devices."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from murmura.cli import options
from murmura.device.commands import federation_options

log_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Check the public log of a federation.")


@log_app.callback()
def log() -> None:
    """Check the public log of a federation."""


@log_app.command("verify")
@federation_options.reaches_others
def verify(
    federation: Annotated[str, typer.Argument(metavar="LINK|URL", help="An invitation, or an address.")],
    fingerprint: federation_options.Fingerprint = "",
    others: federation_options.Others = federation_options.DIRECT,
    as_json: options.Json = False,
) -> None:
    """Fetch a federation's whole log and check every entry, signature and link.

    With an invitation or a fingerprint it is the log of that federation; without, of whoever answers.
    """
    federation_options.need("checking a log")
    from murmura.device.trust import CheckedLog, check_log, fetch_terms
    from murmura.wire.transport import Transport

    invited = federation_options.federation(federation, fingerprint)

    async def checked(send: Transport) -> CheckedLog:
        return await check_log(send, invited.url, await fetch_terms(send, invited.url, invited.terms or None))

    found = others.talk(checked)
    if as_json:
        typer.echo(json.dumps(vars(found)))
        return
    typer.echo(
        f"{invited.url}: unbroken, {found.entries} entries ({found.manifests} manifests, {found.models} "
        f"models, {found.terms} terms), root {found.root}, signed by all machines of the federation"
    )
