"""`murmura backup` and `murmura restore`: copies of a server, and what will happen when one goes on from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmura.cli.console import say
from murmura.core.errors import RunError
from murmura.core.locks import OWN, is_empty, locked
from murmura.device.commands import federation_options


def backup(
    state: Annotated[Path, typer.Option("--state", help="The folder of a server; it may be at work.")],
    to: Annotated[Path, typer.Option("--to", help="A new folder for the copy. It holds keys: protect it.")],
) -> None:
    """Make a consistent copy of a coordinator's or an aggregator's folder while the server runs."""
    from murmura.server.restoring import ServerCopy, copy_folder

    if to.exists() and not is_empty(to):
        raise RunError(f"{to} must be a new or empty folder, but has something in it; give another --to.")
    ServerCopy.find(state)
    to.mkdir(OWN, parents=True, exist_ok=True)
    copy_folder(state, to)
    say(f"copied to {to}: {ServerCopy.find(to).sentence}")


@federation_options.reaches_others
def restore(
    copy: Annotated[Path, typer.Argument(help="A folder that `murmura backup` made.")],
    state: Annotated[Path, typer.Option("--state", help="The new folder of the server.")],
    mirror: Annotated[
        Path | None,
        typer.Option("--mirror", help="A folder of `murmura log mirror`, where all servers are lost."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it, after saying what will happen.")] = False,
    others: federation_options.Others = federation_options.DIRECT,
) -> None:
    """Say what will happen when a server goes on from a copy; with --yes, make its folder."""
    from murmura.server.restoring import ServerCopy, copy_folder, foreseen, take_over_mirror

    found = ServerCopy.find(copy)
    typer.echo(f"the copy: {found.sentence}")
    for line in others.talk(lambda send: foreseen(send, found, mirror), seconds=5):
        typer.echo(line)
    if not yes:
        typer.echo("nothing was done; --yes does it.")
        return
    if state.exists() and not is_empty(state):
        raise RunError(f"{state} must be a new or empty folder, but has something in it; move that away first.")
    with locked(state, OWN):
        copy_folder(copy, state)
        if mirror is not None and found.role == "coordinator":
            take_over_mirror(state, mirror)
    typer.echo(f"restored to {state}; start it as before.")
