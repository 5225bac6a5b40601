"""`murmura compare`: several models under one protocol, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from murmura.cli import options
from murmura.cli.comparison_table import show
from murmura.cli.console import progress, say, size, tell

if TYPE_CHECKING:
    from murmura.core.catalogue import Dataset
    from murmura.core.progress import Progress
    from murmura.engine.federation import Runtime
    from murmura.studies.compare.comparison_plan import Comparison, EntryMeans
    from murmura.studies.configuration import CompareConfig, DataConfig
    from murmura.studies.worker_pool import Workers

DEMO_DATA, DEMO_MODELS = "ml-latest-small-2016", "mostpop,item-knn,ease"
DEMO_SUMS, DEMO_ROUNDS = "fed-ease", "pfpl+"  # two exact secure sums; an epoch of rounds
SHARES = (1, 0.5, 0.1)


@options.takes("murmura.studies.configuration:CompareConfig", file=True)
def compare(
    config: CompareConfig,
    order: options.OrderNames = "",
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
    from murmura.studies.compare.comparison_plan import plan as planned
    from murmura.studies.compare.folder import BESIDE
    from murmura.studies.compare.notes import left_in_place, order_users, parse_orders
    from murmura.studies.compare.run import saved_models

    orders, told, dataset = parse_orders(order), options.tracker(log), load_data(config.data)
    seen = config.whole(orders[0] if orders else None)
    plan = planned(dataset, seen.protocol, config.models, **config.rest())
    users = order_users(plan.entries) if len(orders) > 1 else []
    beside = config.only(users).whole("day") if users else None
    days = beside and planned(dataset, beside.protocol, beside.models, **beside.rest())
    if len(orders) > 1 and days is None:
        say("no model here uses the order of times, so both orders are one; it is run once.")
    for line in left_in_place(plan):
        say(line)
    folder = options.new_folder(out, plan.prepared.data, plan.prepared.protocol.name)
    options.refuse_classifiers(plan, cluster)
    where = (cluster, cluster_tls, config.workers, as_json)
    run_on_cluster(replace(plan, keep=keep), folder, *where)
    hidden = run_on_cluster(days, folder / BESIDE, *where) if days else []
    if not as_json:
        show(plan, folder, hidden)
    options.tell_tracker(told, folder)
    count, length = saved_models(folder)
    if count:
        models = "1 fitted model" if count == 1 else f"{count} fitted models"
        say(f"kept {models}, {size(length)} (--keep): murmura recommend {folder} --model LABEL")
    say(f"run folder: {folder}   (murmura report {folder})")


def load_data(source: DataConfig) -> Dataset:
    """The data of a comparison; what there is to say about it is said."""
    dataset = source.load()
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


def demo(out: options.Out = None, workers: options.Workers = 2) -> None:
    """Compare recommenders, centralised and federated, on MovieLens latest-small (2016); needs no network.

    The newest 20 % of each person's ratings are held out. The federated methods run with three choices of pi, the
    share of their ratings that people contribute: one from two secure sums, one from an epoch of rounds.
    """
    from murmura.data.sources.registry import load
    from murmura.report import build
    from murmura.studies.compare.comparison_plan import plan

    folder = options.new_folder(out, "demo")
    chosen = plan(load(DEMO_DATA), "default", demo_models(), source={"name": DEMO_DATA})
    run(chosen, folder, workers)
    show(chosen, folder)
    page = build(folder)
    say(f"report: {page}")


def demo_models() -> dict[str, dict[str, Any]]:
    """Some baselines, and two federated methods at three choices of pi."""
    from murmura.studies.flag_text import parse_models
    from murmura.studies.methods import defaults

    found, own = parse_models(DEMO_MODELS), defaults("default", DEMO_DATA, DEMO_SUMS)
    for pi in SHARES:
        found[f"{DEMO_SUMS} pi={pi:g} (2 sums)"] = {"name": DEMO_SUMS, **own, "pi": pi}
    for pi in SHARES:
        found[f"{DEMO_ROUNDS} pi={pi:g} (1 epoch)"] = {"name": DEMO_ROUNDS, "pi": pi, "epochs": 1}
    return found
