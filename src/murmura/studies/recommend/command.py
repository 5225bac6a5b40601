"""`murmura recommend`: the list of one person, computed from her own state, with reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import options
from murmura.cli.console import progress, say, table
from murmura.core.errors import SettingError


def recommend(
    run: Annotated[Path, typer.Argument(help="A folder fit, compare, sweep, search or reproduce wrote.")],
    model: Annotated[str, typer.Option("--model", help="Which of its models, by its label in the table.")] = "",
    user: Annotated[str, typer.Option("--user", help="A person the model was trained with, by own id.")] = "",
    likes: Annotated[
        str, typer.Option("--likes", metavar="ID,ID", help="Or someone unknown: the items she likes.")
    ] = "",
    history: Annotated[
        str,
        typer.Option(
            "--history",
            metavar="FILE",
            help="Or someone unknown: a table of her rows, with times if it has any; --user says whose.",
        ),
    ] = "",
    k: Annotated[int, typer.Option("--k", min=1, help="How many items.")] = 10,
    why: Annotated[
        bool,
        typer.Option("--why", help="Beside each item what its score is the sum of, or the nearest of her own."),
    ] = False,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Recommend to one person: nothing about her leaves this machine.

    A model that the folder does not keep is fitted again, which gives the same.
    """
    from murmura.studies.recommend.run import recommend_one

    if bool(likes) == bool(user or history):
        raise SettingError(
            "recommend needs either --user ID, --likes ID,ID or --history FILE: give exactly one of them, or "
            "--user ID to say whose rows of the file."
        )
    liked = [one.strip() for one in likes.split(",") if one.strip()]
    with progress() as listener:
        lines, person = recommend_one(run, user, liked, k, why, data_dir, history, model, listener)
    if person.foreign:
        say(f"{person.foreign} rows are of items the model does not know, and count for nothing")
    if as_json:
        for line in lines:
            typer.echo(json.dumps(line.flat(), ensure_ascii=False))
        return
    rows = [[str(line.rank), line.name, line.why][: 3 if why else 2] for line in lines]
    table(
        f"for {user or ('someone who likes ' + likes if likes else 'the owner of ' + history)}",
        ["rank", "item", "why"][: 3 if why else 2],
        rows,
        text=why,
    )
