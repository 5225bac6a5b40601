"""`murmura join`: this machine becomes a device of a federation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import options, serving
from murmura.cli.console import say
from murmura.core.errors import SettingError

Household = Annotated[bool, typer.Option("--household", help="Everyone in the file shares this device.")]
Readable = Annotated[
    bool, typer.Option("--readable", help="Allow rounds in which the server can read each update.")
]
KeepBack = Annotated[
    float, typer.Option("--keep-back", min=0, max=0.9, help="Likes kept back to measure with.")
]
Simulate = Annotated[
    str, typer.Option("--simulate", metavar="SEED:CLIENT", help="Randomness of a simulation, for tests.")
]
State = Annotated[Path, typer.Option("--state", help="The device's own folder; only you can read it.")]


def join(
    url: Annotated[str, typer.Argument(help="The coordinator's address.")],
    state: State,
    data: Annotated[str, typer.Option("--data", help="A file with what you like; needed the first time.")] = "",
    user: Annotated[str, typer.Option("--user", help="Whose rows of the file, when it has several.")] = "",
    household: Household = False,
    data_dir: options.DataDir = None,
    pi: Annotated[
        float, typer.Option("--pi", min=0, max=1, help="The share of your likes you contribute.")
    ] = 1.0,
    never: Annotated[list[str], typer.Option("--never", help="An item never to be shared.")] = [],  # noqa: B006
    no_statistics: Annotated[bool, typer.Option("--no-statistics", help="No sums about people.")] = False,
    minimum: Annotated[int, typer.Option("--minimum", min=1, help="No round with smaller sums.")] = 100,
    readable: Readable = False,
    keep_back: KeepBack = 0.0,
    top: Annotated[int, typer.Option("--top", min=0, help="Recommend so many items at the end.")] = 0,
    key: Annotated[str, typer.Option("--key", help="The coordinator's public key, if you have it.")] = "",
    authority: serving.Authority = None,
    simulate: Simulate = "",
    as_json: options.Json = False,
) -> None:
    """Join a federation with what you like, and take part in its rounds until it is finished.

    What you like stays here. The same command with the same --state goes on after an interruption.
    """
    serving.need("joining a federation")
    from murmura.cli import joining

    chosen = joining.JoinOptions(
        url=url.rstrip("/"),
        state=state,
        data=data,
        user=user,
        household=household,
        data_dir=data_dir,
        pi=pi,
        never=tuple(never),
        statistics=not no_statistics,
        minimum=minimum,
        readable=readable,
        keep_back=keep_back,
        top=top,
        key=_key(key),
        authority=authority,
        simulate=_simulated(simulate),
    )

    def tell(event: dict[str, object]) -> None:
        if as_json:
            typer.echo(json.dumps(event))
        else:
            say(joining.sentence(event))

    joining.run(chosen, tell)


def _key(text: str) -> bytes | None:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b"?"
    if key and len(key) != 32:
        raise SettingError("--key must be 64 hexadecimal digits, but it is not.")
    return key or None


def _simulated(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    seed, _, client = text.partition(":")
    if not (seed.isdigit() and client.isdigit()):
        raise SettingError(f"--simulate must be SEED:CLIENT in whole numbers, but it is '{text}'.")
    return int(seed), int(client)
