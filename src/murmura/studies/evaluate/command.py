"""`murmura evaluate` and `murmura export`: the test part scored here, or handed to other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from murmura.cli import options
from murmura.cli.console import say, table
from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.studies.evaluate.run import EvaluateConfig


@options.takes("murmura.studies.evaluate.run:EvaluateConfig")
def evaluate(
    config: EvaluateConfig,
    run: Annotated[
        Path | None, typer.Argument(help="A folder `murmura fit` or `murmura search` wrote; or give --lists.")
    ] = None,
    lists: Annotated[
        Path | None, typer.Option("--lists", help="A file of lists, made by anybody, to score on our split.")
    ] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Open the test part for a fitted run, for the choice of a search, or for a file of lists.

    The folder keeps the metrics, and what the test part was opened for.
    """
    from murmura.studies.evaluate.run import evaluate_lists, evaluate_run

    if (run is None) == (lists is None):
        raise SettingError(
            "evaluate needs a run folder, or --lists FILE with --data and --protocol: one of both."
        )
    if run is None:
        assert lists is not None
        run = options.new_folder(out, config.data.name, "lists")
        values = evaluate_lists(lists, config, run)
        say(f"run folder: {run}")
    elif config.split:
        raise SettingError(f"--split is for --lists: how {run} is cut was decided when it was fitted.")
    else:
        values = evaluate_run(run, config)
    if as_json:
        typer.echo(json.dumps({"run": str(run), **values}))
    else:
        rows = [[key, "" if value is None else f"{value:.5g}"] for key, value in values.items()]
        table(str(run), ["metric", "value"], rows)


def export(
    run: Annotated[Path, typer.Argument(help="A folder fit, compare, sweep or search wrote.")],
    form: Annotated[
        Literal["trec", "elliot", "warprec", "recbole"], typer.Option("--format", help="For which tool.")
    ] = "trec",
    out: Annotated[Path | None, typer.Option("--out", help="Where to; default RUN/export-FORMAT.")] = None,
    lists_only: Annotated[
        bool, typer.Option("--lists-only", help="No split and no judgements: the test part stays closed.")
    ] = False,
    data_dir: options.DataDir = None,
) -> None:
    """Write the lists of a run folder and its split, so that another tool can score them.

    The split has the test rows, so the test part counts as opened, for what the folder was run with.
    """
    from murmura.studies.evaluate.run import export_run

    written = export_run(run, form, out, data_dir, not lists_only)
    for path in written:
        typer.echo(str(path))
    say(f"wrote {len(written)} files for {form}")
