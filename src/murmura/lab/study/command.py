"""`murmura study`: several methods on several data sets, with the same number of trials, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmura.cli import options
from murmura.cli.console import progress, say
from murmura.cli.report import show_table


def study(
    file: Annotated[Path, typer.Argument(help="A YAML plan: data sets, methods, trials.")],
    workers: options.Processes = 1,
    data_dir: options.DataDir = None,
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    out: options.Out = None,
) -> None:
    """Search every method on every data set with the same number of trials, and compare what was chosen.

    Each test part is opened once, for all methods. A method that fails is a row with its reason. An interrupted
    study goes on with the same plan and --out.
    """
    from murmura.core.locks import locked
    from murmura.lab.study.run import study as run
    from murmura.lab.study.section import study_tables
    from murmura.lab.study.study_plan import read_study
    from murmura.report.table import FORMATS

    plan, folder = read_study(file), options.new_folder(out, file.stem)
    with progress() as bar:
        team = options.team(workers, cluster, cluster_tls)
        done = run(plan, folder, workers=team, data_dir=data_dir, progress=bar, on_message=say)
    overview, rows, effects = study_tables(done)
    with locked(folder):
        for form in ("csv", "md", "tex"):
            for name, found in (("table", overview), ("rows", rows), ("effects", effects)):
                done.run.write(f"{name}.{form}", FORMATS[form].write(found))
    show_table(overview)
    say(f"run folder: {folder}   (table.csv, .md, .tex; murmura report {folder}/DATA)")
