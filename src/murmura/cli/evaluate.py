"""`murmura evaluate`: open the test part for a fitted run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import options
from murmura.cli.console import table


def evaluate(
    run: Annotated[Path, typer.Argument(help="A folder `murmura fit` or `murmura search` wrote.")],
    at: options.Cutoffs = "",
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Open the test part for a fitted run or for the choice of a search; its folder keeps the metrics."""
    from murmura.engine.run import Run
    from murmura.studies.search_folder import evaluate_search, is_search
    from murmura.studies.single import evaluate_run

    score = evaluate_search if is_search(Run.open(run)) else evaluate_run
    values = score(run, options.parse_cutoffs(at), data_dir)
    if as_json:
        typer.echo(json.dumps({"run": str(run), **values}))
    else:
        table(str(run), ["metric", "value"], [[key, f"{value:.5g}"] for key, value in values.items()])
