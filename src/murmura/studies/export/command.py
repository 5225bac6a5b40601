"""`murmura export`: lists and splits as other tools read them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from murmura.cli import options
from murmura.cli.console import say


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
    from murmura.studies.export.run import export_run

    written = export_run(run, form, out, data_dir, not lists_only)
    for path in written:
        typer.echo(str(path))
    say(f"wrote {len(written)} files for {form}")
