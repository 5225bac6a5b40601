"""`murmura fit`: learn one model on the training part of a data set and keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.console import progress, say

if TYPE_CHECKING:
    from murmura.studies.configuration import FitConfig


@options.takes("murmura.studies.configuration:FitConfig", file=True)
def fit(
    config: FitConfig,
    order: options.OneOrder = "",
    checkpoint_every: Annotated[
        int | None,
        typer.Option("--checkpoint-every", min=1, help="Rounds between saves (federated); default: an epoch."),
    ] = None,
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    out: options.Out = None,
    log: options.Log = "",
) -> None:
    """Fit one model and write its run folder: model and recommendations. The test part stays closed.

    The same command with the same --out goes on where a killed federated training stopped.
    """
    from murmura.studies.fit.run import fit_run

    told, config = options.tracker(log), config.whole(options.one_order(order))
    folder = options.new_folder(out, config.data.name, str(config.model["name"]))
    with options.cluster_at(cluster, cluster_tls, folder) as carried, progress() as listener:
        fit_run(config, folder, listener, checkpoint_every, carried, say)
    options.tell_tracker(told, folder)
    say(f"run folder: {folder}   (murmura evaluate {folder})")
