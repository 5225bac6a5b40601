"""`murmura fit`: learn one model on the training part of a data set and keep it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.cli import options
from murmura.cli.config_file import read_with_flags
from murmura.cli.console import progress, say
from murmura.cli.report import tell_tracker

if TYPE_CHECKING:
    from murmura.studies.configuration import FitConfig


@options.takes_reading
def fit(
    context: typer.Context,
    model: Annotated[str, typer.Option("--model", help="Which model; `murmura config show` lists them.")] = "",
    data: options.Data = "",
    protocol: options.ProtocolName = "default",
    split: options.SplitName = "",
    candidates: options.CandidateCount = None,
    order: options.OneOrder = "",
    settings: options.Set = [],  # noqa: B006
    seed: options.Seed = 0,
    config: options.ConfigFile = None,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    workers: options.Workers = 1,
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
    from murmura.core.settings import changed
    from murmura.studies.configuration import FitConfig
    from murmura.studies.fit.run import fit_run
    from murmura.tracking import tracker

    told = tracker(log)
    if config is not None:
        read = read_with_flags(config, FitConfig, context, reading)
    else:
        source = {"name": data or "ml-latest-small-2016", "skip_bad": False, **reading}
        read = from_flags(model or "ease", source, data_dir, protocol, settings, seed=seed, workers=workers)
    cut = options.changed_protocol(read.whole_protocol, split, candidates)
    read = changed(read, protocol=options.one_order(cut, order), split=None, candidates=None)
    folder = options.new_folder(out, read.data.name, str(read.model["name"]))
    with options.cluster_at(cluster, cluster_tls, folder) as carried, progress() as listener:
        fit_run(read, folder, listener, checkpoint_every, carried, say)
    tell_tracker(told, folder)
    say(f"run folder: {folder}   (murmura evaluate {folder})")


def from_flags(
    model: str, source: dict[str, Any], data_dir: Path | None, protocol: str, settings: list[str], **more: int
) -> FitConfig:
    """The configuration of one model that flags describe."""
    from murmura.studies.configuration import FitConfig, check_config

    chosen = {"name": model, **options.parse_settings(settings, [model])[model]}
    data = {**source, "dir": data_dir and str(data_dir)}
    config = check_config({"data": data, "protocol": protocol, "model": chosen, **more})
    assert isinstance(config, FitConfig)
    return config
