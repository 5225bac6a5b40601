"""`murmura log`: anybody's check of what a federation has shown its devices."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
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
    resumed = f", {found.resumed} times resumed from an older model" if found.resumed else ""
    typer.echo(
        f"{invited.url}: unbroken, {found.entries} entries ({found.manifests} manifests, {found.models} "
        f"models, {found.terms} terms{resumed}), root {found.root}, signed by all machines of the federation"
    )


@log_app.command("watch")
@federation_options.reaches_others
def watch(
    federation: Annotated[str, typer.Argument(metavar="LINK|URL", help="An invitation, or an address.")],
    state: Annotated[Path, typer.Option("--state", help="The file that keeps the heads; publish it.")],
    fingerprint: federation_options.Fingerprint = "",
    interval: Annotated[float, typer.Option("--interval", min=1, help="Seconds between two looks.")] = 60.0,
    idle: Annotated[
        float | None,
        typer.Option("--idle", min=1, help="Seconds without a new entry that are told; two windows otherwise."),
    ] = None,
    beside: Annotated[
        list[str], typer.Option("--compare", metavar="FILE|URL", help="The file of another watcher.")
    ] = [],  # noqa: B006
    once: Annotated[bool, typer.Option("--once", help="Look once; exit code 6 if something is wrong.")] = False,
    others: federation_options.Others = federation_options.DIRECT,
    as_json: options.Json = False,
) -> None:
    """Keep the heads of a log, and say in one line if it forks, goes back or stops.

    Any third party can run it. Two watchers who compare their files find a log that shows them different pasts.
    """
    federation_options.need("watching a log")
    from murmura.device.log_watch import LogWatcher, Look
    from murmura.wire.refusals import RefusedError
    from murmura.wire.transport import Transport

    invited = federation_options.federation(federation, fingerprint)

    async def watched(send: Transport) -> None:
        watcher = LogWatcher(send, invited.url, state, invited.terms or None, idle, beside)
        before: Look | None = None
        while True:
            look = await watcher.look(time.time())
            if before is None or look.verdict != before.verdict:
                _tell(invited.url, look.verdict, look.sentence, as_json)
            before = look
            if once:
                break
            await asyncio.sleep(interval)
        if look.verdict != "unbroken":
            raise typer.Exit(RefusedError.exit_code)

    others.talk(watched)


@log_app.command("mirror")
@federation_options.reaches_others
def mirror(
    federation: Annotated[str, typer.Argument(metavar="LINK|URL", help="An invitation, or an address.")],
    state: Annotated[Path, typer.Option("--state", help="The folder that keeps every entry.")],
    fingerprint: federation_options.Fingerprint = "",
    interval: Annotated[float, typer.Option("--interval", min=0.1, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Fetch what is new, once.")] = False,
    others: federation_options.Others = federation_options.DIRECT,
) -> None:
    """Keep a copy of a whole log elsewhere: with it a federation outlives the loss of all its servers.

    It keeps nothing that is not public. `murmura restore --mirror` takes it over.
    """
    federation_options.need("keeping a log")
    from murmura.core.locks import locked
    from murmura.device.log_mirror import LogMirror
    from murmura.wire.refusals import UnreachableError
    from murmura.wire.transport import Transport

    invited = federation_options.federation(federation, fingerprint)

    async def mirrored(send: Transport) -> None:
        while True:
            try:
                size, fresh = await LogMirror(state).look(send, invited.url, invited.terms or None)
                if fresh or once:
                    typer.echo(f"{invited.url}: {size} entries, {fresh} of them new")
            except UnreachableError as error:
                if once:
                    raise
                typer.echo(str(error))
            if once:
                return
            await asyncio.sleep(interval)

    with locked(state):
        others.talk(mirrored)


def _tell(url: str, verdict: str, sentence: str, as_json: bool) -> None:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = json.dumps({"time": at, "url": url, "verdict": verdict, "message": sentence})
    typer.echo(line if as_json else f"{at} {url}: {sentence}")
