"""`murmura simulate`: train a federated method on a population on disk, in shards, here or on a cluster."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.console import progress, say, tell

if TYPE_CHECKING:
    from murmura.channel.ledger import LedgerLine
    from murmura.data.populations import PopulationFiles
    from murmura.runtimes.ranges import RangePlan


def simulate(
    population: Annotated[Path, typer.Argument(help="The folder of a population.")],
    model: Annotated[str, typer.Option("--model", help="A federated method.")] = "pfpl+",
    settings: options.Set = [],  # noqa: B006
    seed: options.Seed = 0,
    shard: Annotated[
        int | None,
        typer.Option("--shard", min=1, help="Clients in a shard; sums of a channel do not depend on it."),
    ] = None,
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", min=1, help="Rounds between two writings of all states.")
    ] = 1,
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Train with very many clients, whose histories and states stay in files; one line for each round.

    Sums go through a channel in a ring of 64 bits unless -S says otherwise. The same command with the same
    --out goes on where a killed one stopped.
    """
    from murmura.core.locks import locked
    from murmura.data.populations import PopulationFiles
    from murmura.engine.checkpoint import NAME as CHECKPOINT
    from murmura.runtimes.sharded_training import SHARD, ShardedTraining
    from murmura.runtimes.tasks import TaskEngine

    held = PopulationFiles.open(population)
    plan = _plan(model, settings, seed, held)
    folder = options.new_folder(out, population.name, model)
    with options.cluster_at(cluster, cluster_tls, folder) as carried, progress() as bar, locked(folder):
        tasks = TaskEngine() if carried is None else carried.tasks
        training = ShardedTraining(tasks, plan, held, folder, shard or SHARD, checkpoint_every)
        rounds = plan.itinerary.rounds
        bar.begin(f"{model}: rounds of {held.clients:,} clients", rounds)
        bar.advance(training.rounds)

        def on_line(line: LedgerLine) -> None:
            bar.advance(1)
            moved = f"round {line.rounds}: {line.visits:,} visits, {line.bytes_up / 1e6:,.0f} MB up"
            tell(asdict(line), f"{moved}, disclosed {line.disclosed_mean:.4f} on average", as_json)

        training.run(rounds, on_line)
        bar.end()
    say(f"folder: {folder}   ({folder / CHECKPOINT} has the model)")


def _plan(model: str, settings: list[str], seed: int, population: PopulationFiles) -> RangePlan:
    """The training that the flags describe, of everyone through a channel where they say nothing else."""
    from murmura.algorithms import algorithm
    from murmura.core.channel import ChannelSettings
    from murmura.runtimes.ranges import RangePlan
    from murmura.runtimes.shards import population_info

    given = options.parse_settings(settings, [model])[model]
    named = algorithm(model)
    sums = {"channel": "secure-sum", "ring": 64} if ChannelSettings in named.parts else {}
    preset = named(**{**sums, **given})
    method = preset.algorithm()
    info = population_info(method, population)
    return RangePlan(method, info, preset.schedule(), preset.consent(), seed, preset.channel_settings())
