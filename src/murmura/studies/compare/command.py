"""`murmura compare`: several models under one protocol, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from murmura.cli import options
from murmura.cli.comparison_table import show
from murmura.cli.config_file import read_with_flags
from murmura.cli.console import progress, say, size, tell
from murmura.cli.report import tell_tracker

if TYPE_CHECKING:
    from murmura.core.catalogue import Dataset
    from murmura.core.progress import Progress
    from murmura.engine.federation import Runtime
    from murmura.studies.compare.comparison_plan import Comparison, EntryMeans
    from murmura.studies.worker_pool import Workers

DEFAULT_MODELS = "random,mostpop,user-knn,item-knn,bpr-mf,mf,ials,ease"


@options.takes_reading
def compare(
    context: typer.Context,
    data: options.Data = "",
    protocol: options.ProtocolName = "default",
    split: options.SplitName = "",
    candidates: options.CandidateCount = None,
    order: options.OrderNames = "",
    models: options.Models = "",
    settings: options.Set = [],  # noqa: B006
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds; the table shows means.")] = 1,
    seed: options.Seed = 0,
    at: options.Cutoffs = "",
    metrics: options.Metrics = "",
    config: options.ConfigFile = None,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    workers: options.Processes = 1,
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    out: options.Out = None,
    keep: Annotated[
        Literal["all", "best", "none"],
        typer.Option(
            "--keep", help="Fitted models: of every one, the best centralised and federated, of none."
        ),
    ] = "all",
    log: options.Log = "",
    as_json: options.Json = False,
) -> None:
    """Compare models on one data set. Never searches: without -S it takes documented settings.

    An interrupted comparison goes on with the same flags and --out; finished runs are not repeated. With
    --cluster, rounds that can be cut into shards are carried by its workers; every other model is fitted whole
    by one of them, side by side. The test part and the files stay here.
    """
    from murmura.core.settings import as_dict
    from murmura.engine.protocol_text import with_order
    from murmura.studies.compare.comparison_plan import plan as planned
    from murmura.studies.compare.folder import BESIDE
    from murmura.studies.compare.notes import left_in_place, order_users, parse_orders
    from murmura.studies.compare.run import saved_models
    from murmura.studies.configuration import CompareConfig
    from murmura.tracking import tracker

    orders, told = parse_orders(order), tracker(log)
    source: dict[str, Any]
    if config is not None:
        read = read_with_flags(config, CompareConfig, context, reading)
        protocol, chosen, workers, source = read.whole_protocol, read.models, read.workers, as_dict(read.data)
        plan_of = partial(
            planned, load_data(source, read.data.place()),
            seeds=read.seeds, seed=read.seed, cutoffs=read.cutoffs, metrics=read.metrics, source=source,
        )  # fmt: skip
    else:
        chosen = options.parse_models(models or DEFAULT_MODELS)
        for label, own in options.parse_settings(settings, list(chosen)).items():
            chosen[label] |= own
        source = {"name": data or "ml-latest-small-2016", "skip_bad": False, **reading}
        source |= {"dir": str(data_dir)} if data_dir else {}
        more: dict[str, Any] = {"metrics": named} if (named := options.parse_metrics(metrics)) else {}
        plan_of = partial(
            planned, load_data(source, data_dir),
            seeds=seeds, seed=seed, cutoffs=options.parse_cutoffs(at), source=source, **more,
        )  # fmt: skip
    protocol = options.changed_protocol(protocol, split, candidates)
    plan = plan_of(with_order(protocol, orders[0]) if orders else protocol, chosen)
    users = order_users(plan.entries) if len(orders) > 1 else []
    days = plan_of(with_order(protocol, "day"), {label: chosen[label] for label in users}) if users else None
    if len(orders) > 1 and days is None:
        say("no model here uses the order of times, so both orders are one; it is run once.")
    for line in left_in_place(plan):
        say(line)
    folder = options.new_folder(out, plan.prepared.data, plan.prepared.protocol.name)
    options.refuse_classifiers(plan, cluster)
    where = (cluster, cluster_tls, workers, as_json)
    run_on_cluster(replace(plan, keep=keep), folder, *where)
    hidden = run_on_cluster(days, folder / BESIDE, *where) if days else []
    if not as_json:
        show(plan, folder, hidden)
    tell_tracker(told, folder)
    count, length = saved_models(folder)
    if count:
        models = "1 fitted model" if count == 1 else f"{count} fitted models"
        say(f"kept {models}, {size(length)} (--keep): murmura recommend {folder} --model LABEL")
    say(f"run folder: {folder}   (murmura report {folder})")


def load_data(source: dict[str, Any], data_dir: Path | None) -> Dataset:
    """The data of a comparison; what there is to say about it is said."""
    from murmura.studies.configuration import named_data

    dataset = named_data({"data": source}).load(data_dir)
    for note in dataset.notes:
        say(note)
    return dataset


def run_on_cluster(
    plan: Comparison, folder: Path, cluster: str, tls: Path | None, workers: int, as_json: bool
) -> list[EntryMeans]:
    """Run the plan with the cluster that is named, if any; its shards lie in this folder, under its lock."""
    with options.cluster_at(cluster, tls, folder) as carried:
        team = options.team(workers, carried.address if carried else "", tls)
        return run(plan, folder, team, as_json, carried)


def run(
    plan: Comparison,
    folder: Path,
    workers: int | Workers,
    as_json: bool = False,
    runtime: Runtime | None = None,
) -> list[EntryMeans]:
    """Run the plan; with --json each line is printed as soon as it is known."""
    from murmura.studies.compare.run import compare as compare_all

    rules = plan.prepared.protocol
    said: dict[str, Any] = {} if rules.order == "real" else {"order": rules.order}
    said |= {} if rules.sampled is None else rules.sampled.flat()
    return collect(
        lambda bar: compare_all(plan, folder, workers=workers, progress=bar, runtime=runtime), as_json, said
    )


def collect(
    start: Callable[[Progress], Iterable[EntryMeans]], as_json: bool, said: Mapping[str, Any] | None = None
) -> list[EntryMeans]:
    """The lines of a comparison under a progress bar, each told as soon as it is known, with what is `said`."""
    lines = []
    with progress() as bar:
        for line in start(bar):
            lines.append(line)
            tell({**line.flat(), **(said or {})}, f"{line.label}: done", as_json)
    return lines
