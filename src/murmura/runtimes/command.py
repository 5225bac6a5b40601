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
    from murmura.runtimes.sharded_training import SimulateConfig


@options.takes("murmura.runtimes.sharded_training:SimulateConfig")
def simulate(
    config: SimulateConfig,
    population: Annotated[Path, typer.Argument(help="The folder of a population.")],
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
    from murmura.engine.fit import CHECKPOINT
    from murmura.runtimes.sharded_training import ShardedTraining, TaskEngine

    held = PopulationFiles.open(population)
    plan, folder = config.plan(held), options.new_folder(out, population.name, config.model)
    with options.cluster_at(cluster, cluster_tls, folder) as carried, progress() as bar, locked(folder):
        tasks = TaskEngine() if carried is None else carried.tasks
        training = ShardedTraining(tasks, plan, held, folder, config.shard, config.checkpoint_every)
        rounds = plan.itinerary.rounds
        bar.begin(f"{config.model}: rounds of {held.clients:,} clients", rounds)
        bar.advance(training.rounds)

        def on_line(line: LedgerLine) -> None:
            bar.advance(1)
            moved = f"round {line.rounds}: {line.visits:,} visits, {line.bytes_up / 1e6:,.0f} MB up"
            tell(asdict(line), f"{moved}, disclosed {line.disclosed_mean:.4f} on average", as_json)

        training.run(rounds, on_line)
        bar.end()
    say(f"folder: {folder}   ({folder / CHECKPOINT} has the model)")
