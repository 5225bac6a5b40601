"""`murmura evaluate`: open the test part for a fitted run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import options
from murmura.cli.console import table


def evaluate(
    run: Annotated[Path, typer.Argument(help="A folder `murmura fit` wrote.")],
    at: options.Cutoffs = "",
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Score a fitted run on its test part; the metrics are kept in the run folder."""
    from murmura.studies.single import evaluate_run

    values = evaluate_run(run, options.parse_cutoffs(at), data_dir)
    if as_json:
        typer.echo(json.dumps({"run": str(run), **values}))
    else:
        table(str(run), ["metric", "value"], [[key, f"{value:.5g}"] for key, value in values.items()])
