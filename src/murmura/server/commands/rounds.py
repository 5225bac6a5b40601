"""`murmura rounds`: the operator's view of a federation, and the orders it takes."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from murmura.cli import options
from murmura.cli.console import table
from murmura.device.commands import federation_options

rounds_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Watch and order a federation that is served."
)
Token = Annotated[
    Path, typer.Option("--token-file", help="The operator's token; it is in the coordinator's folder.")
]


@rounds_app.command("list")
@federation_options.reaches_others
def list_rounds(
    url: federation_options.Url,
    token_file: Token,
    others: federation_options.Others = federation_options.DIRECT,
    as_json: options.Json = False,
) -> None:
    """Show where a federation stands and its last rounds."""
    status = _ask("GET", url, "/status", token_file, others)
    rounds = _ask("GET", url, "/rounds", token_file, others)["rounds"]
    if as_json:
        typer.echo(json.dumps({**status, "rounds": rounds}))
        return
    label = f"; {status['label']}" if status["label"] else ""
    title = (
        f"{status['method']}, {status['mode']}{label}: {status['state']}, {status['rounds_done']} of "
        f"{status['rounds_in_all']} rounds, {status['devices']} devices{_awaited(status)}"
    )
    n, alarms = status.get("suspected", 0), ("drift", "alarm")
    notes = [
        *(status.get(name, "") for name in ("difference", "breach", "resumed")),
        f"a device broke the bounds of a sum, and is looked for among {n}" if n else "",
        *(f"{name}: {status[name]}" for name in alarms if status.get(name)),
    ]
    columns = ["round", "phase", "state", "called", "reports", "seconds", "reason"]
    table(
        title,
        columns,
        [["" if one[name] is None else str(one[name]) for name in columns] for one in rounds],
        text=True,
        note="; ".join(filter(None, notes)),
    )


def _awaited(status: dict[str, Any]) -> str:
    """What the next round waits for, if for anything."""
    if status["state"] != "running" or status["open"] is not None:
        return ""
    if not status["terms"]:
        return "; waits for both aggregators to agree"
    if status["devices"] < status["minimum"]:
        return f"; waits for {status['minimum']} devices"
    if not status["waits_until"]:
        return ""
    if status.get("renews"):
        return f"; devices rank with the last release{_begins(status)}"
    asked = "; a setup phase was asked in this release window"
    return f"{asked}, which has no end" if status["waits_until"] == math.inf else asked + _begins(status)


def _begins(status: dict[str, Any]) -> str:
    return f", the next begins {time.strftime('%Y-%m-%d %H:%M', time.gmtime(status['waits_until']))} UTC"


def _add_order(what: str, meaning: str) -> None:
    """The command that gives an order."""

    @rounds_app.command(what, help=meaning)
    @federation_options.reaches_others
    def order(
        url: federation_options.Url,
        token_file: Token,
        others: federation_options.Others = federation_options.DIRECT,
    ) -> None:
        typer.echo(_ask("POST", url, f"/orders/{what}", token_file, others)["state"])


_add_order("start", "Open rounds from now on.")
_add_order("pause", "Open no new round; the open one goes on.")
_add_order("renew", "Ask for a new release of the sums in the next window; it replaces the one there is.")
_add_order("stop", "End the federation for good; the open round is given up.")


@rounds_app.command("rollback")
@federation_options.reaches_others
def rollback(
    url: federation_options.Url,
    token_file: Token,
    done: Annotated[int, typer.Option("--to", min=1, help="Go back to the model after so many rounds.")],
    others: federation_options.Others = federation_options.DIRECT,
) -> None:
    """Go back to one of the last models (`serve --keep`), while paused. Everybody sees it in the log."""
    status = _ask("POST", url, f"/rollback/{done}", token_file, others)
    done, model = status["rounds_done"], status["model"]
    typer.echo(f"back to the model after {done} rounds, {model}; `murmura rounds start` goes on")


@rounds_app.command("remove")
@federation_options.reaches_others
def remove(
    url: federation_options.Url,
    token_file: Token,
    place: Annotated[int, typer.Option("--place", min=0, help="The number of a device's place.")],
    others: federation_options.Others = federation_options.DIRECT,
) -> None:
    """Free a device's place. It may take one again: to keep it out, revoke its invitation."""
    freed = _ask("DELETE", url, f"/devices/{place}", token_file, others)["removed"]
    typer.echo(f"place {freed} is free")


def _ask(
    method: str, url: str, path: str, token_file: Path, others: federation_options.Others
) -> dict[str, Any]:
    federation_options.need("asking a coordinator")
    from murmura.core.errors import SettingError
    from murmura.wire.transport import ask, bearer

    try:
        token = token_file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingError(
            f"{token_file} must hold the operator's token, but cannot be read ({error})."
        ) from None
    address = url.rstrip("/") + path
    return others.talk(lambda send: ask(send, method, address, headers=bearer(token))).json()
