"""`murmura recommend`: the list of one person, computed from her own state, with reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import options
from murmura.cli.console import table
from murmura.core.errors import SettingError


def recommend(
    run: Annotated[Path, typer.Argument(help="A folder `murmura fit` wrote.")],
    user: Annotated[str, typer.Option("--user", help="A person the model was trained with, by own id.")] = "",
    likes: Annotated[
        str, typer.Option("--likes", metavar="ID,ID", help="Or someone unknown: the items she likes.")
    ] = "",
    k: Annotated[int, typer.Option("--k", min=1, help="How many items.")] = 10,
    why: Annotated[
        bool,
        typer.Option("--why", help="Beside each item what its score is the sum of, or the nearest of her own."),
    ] = False,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Recommend to one person: nothing about her leaves this machine."""
    from murmura.studies.recommendation import recommend_one

    if bool(user) == bool(likes):
        raise SettingError("recommend needs either --user ID or --likes ID,ID: give exactly one of them.")
    lines = recommend_one(run, user, [one.strip() for one in likes.split(",") if one.strip()], k, why, data_dir)
    if as_json:
        for line in lines:
            typer.echo(json.dumps(line.flat(why), ensure_ascii=False))
        return
    rows = [[str(line.rank), line.name, line.reason()][: 3 if why else 2] for line in lines]
    table(
        f"for {user or 'someone who likes ' + likes}",
        ["rank", "item", "why"][: 3 if why else 2],
        rows,
        text=why,
    )
