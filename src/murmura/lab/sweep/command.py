"""`murmura sweep`: one setting takes one value after the other, for several models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from murmura.cli import options
from murmura.cli.console import say
from murmura.cli.report import show_table, write_report
from murmura.studies.compare.command import collect, load_data

if TYPE_CHECKING:
    from murmura.lab.sweep.run import SweepConfig


@options.takes("murmura.lab.sweep.run:SweepConfig")
def sweep(
    config: SweepConfig,
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    out: options.Out = None,
    log: options.Log = "",
    as_json: options.Json = False,
) -> None:
    """Sweep a setting: a comparison of every model with every value, and its report with the curves.

    An interrupted sweep goes on with the same flags and --out; finished runs are not repeated. -S without a
    model's name sets it for every swept model. The workers of --cluster fit whole models; the test part and the
    files stay here.
    """
    from murmura.lab.sweep.run import plan_config
    from murmura.lab.sweep.run import sweep as run
    from murmura.lab.sweep.section import swept

    connected, team = options.tracker(log), options.team(config.workers, cluster, cluster_tls)
    plan, what = plan_config(config, load_data(config.data))
    options.refuse_classifiers(plan, cluster)
    folder = options.new_folder(out, plan.prepared.data, "sweep", config.key)
    lines = collect(lambda bar: run(plan, what, folder, workers=team, progress=bar), as_json)
    if not as_json and (table := swept(folder)) is not None:
        show_table(table)
    say(f"run folder: {folder}")
    write_report(folder)
    options.tell_tracker(connected, folder)
    if any(line.failed for line in lines):
        raise typer.Exit(1)
