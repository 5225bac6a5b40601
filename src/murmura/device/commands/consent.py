"""`murmura consent`: what the owner of a device allows, changed at any time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli.console import say
from murmura.device.commands import federation_options

if TYPE_CHECKING:
    from murmura.device.folder import DeviceFolder


def consent(
    state: Annotated[Path, typer.Option("--state", help="The device's folder.")],
    train: Annotated[bool | None, typer.Option("--train/--no-train", help="Take part in training.")] = None,
    statistics: Annotated[
        bool | None, typer.Option("--statistics/--no-statistics", help="Take part in sums about people.")
    ] = None,
    pi: Annotated[
        float | None, typer.Option("--pi", min=0, max=1, help="The share of your likes you contribute.")
    ] = None,
    epsilon: federation_options.Epsilon = None,
    release_epsilon: federation_options.ReleaseEpsilon = None,
    never: Annotated[list[str], typer.Option("--never", help="An item never to be shared.")] = [],  # noqa: B006
    allow: Annotated[list[str], typer.Option("--allow", help="Take a --never back.")] = [],  # noqa: B006
    accept: Annotated[
        bool, typer.Option("--accept", help="Agree to the changed terms this device has refused.")
    ] = False,
    terms: Annotated[
        str, typer.Option("--terms", help="With --accept: only to terms whose hash begins so.")
    ] = "",
) -> None:
    """Show or change what a device may send; it counts before the next byte leaves, also of a queued upload."""
    from murmura.core.errors import DataError
    from murmura.core.settings import as_dict, changed
    from murmura.device.folder import DeviceFolder

    folder = DeviceFolder(state)
    folder.identity()  # refuses a folder that is none, or a newer one's, before anything is done
    if accept:
        _accept(folder, terms)
    codes = {str(like.label): like.item for like in folder.likes()}
    unknown = [label for label in (*never, *allow) if label not in codes]
    if unknown:
        raise DataError(f"'{unknown[0]}' must be an item this device holds, but it does not hold it.")
    now = folder.permission()
    excluded = ({*now.never} | {codes[label] for label in never}) - {codes[label] for label in allow}
    bounds = {"epsilon": epsilon, "release_epsilon": release_epsilon}
    wishes = {"train": train, "statistics": statistics, "pi": pi, **bounds}
    wanted = {name: wish for name, wish in wishes.items() if wish is not None}
    after = changed(now, never=tuple(sorted(excluded)), **wanted)
    if after != now:
        folder.allow(after)
        say("changed; it counts before the next byte leaves.")
    names = {item: label for label, item in codes.items()}
    typer.echo(json.dumps({**as_dict(after), "never": [names.get(item, item) for item in after.never]}))


def _accept(folder: DeviceFolder, terms: str) -> None:
    """Pin the terms that were offered, after saying what they change."""
    from murmura.core.errors import DataError

    offered = folder.offered()
    if offered is None:
        raise DataError(
            "there must be changed terms to agree to, but this device was offered none; it keeps those it "
            "joined with."
        )
    if not offered.hash.hex().startswith(terms.lower()):
        raise DataError(
            f"the terms offered must be {terms}…, but are {offered.hash.hex()} by now; look at them again."
        )
    changes = folder.identity().terms.differences(offered)
    folder.accept(offered)
    for change in changes:
        say(f"agreed: {change}")
