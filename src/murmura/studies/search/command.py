"""`murmura search`: choose settings on the validation part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.console import progress, say, table
from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.studies.search.folder import Trial
    from murmura.studies.search.run import SearchConfig

Grid = Annotated[list[str], typer.Option("--grid", metavar="KEY=V,V", help="Values of a setting; repeatable.")]
Trials = Annotated[int, typer.Option("--trials", min=1, help="How many settings tpe tries in all.")]
History = Annotated[
    Path | None, typer.Option("--history", help="A CSV of trials that searches share; default: in --out.")
]


@options.takes("murmura.studies.search.run:SearchConfig")
def search(
    config: SearchConfig,
    grid: Grid = [],  # noqa: B006
    trials: Trials = 20,
    history: History = None,
    order: options.OneOrder = "",
    workers: options.Processes = 1,
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    out: options.Out = None,
    log: options.Log = "",
    as_json: options.Json = False,
) -> None:
    """Choose settings: fitted on training minus validation, scored on validation. The test part stays closed.

    An interrupted search goes on with the same flags and --out. `murmura evaluate FOLDER` then opens the test
    part for the choice; after that the folder searches no more.
    """
    team = options.team(workers, cluster, cluster_tls)
    if not config.search or not (grid or config.space):
        raise SettingError("search needs --model and at least one --grid KEY=V,V or --space KEY=LOW:HIGH.")
    from murmura.studies.search.run import search_run

    connected, config = options.tracker(log), config.with_grid(grid).whole(options.one_order(order))
    folder, found = options.new_folder(out, config.data.name, "search", config.search), []
    with progress() as listener:
        listener.begin("trials", len(config.tried(trials)))
        for trial in search_run(
            config, folder, trials=trials, history=history, workers=team, progress=listener, on_message=say
        ):
            found.append(trial)
            listener.advance()
            say(f"{config.metric} {trial.value:.5f} in {trial.seconds:.1f} s with {json.dumps(trial.settings)}")
    _show(config, found, as_json)
    options.tell_tracker(connected, folder)
    say(f"run folder: {folder}   (murmura evaluate {folder} opens the test part; murmura report {folder})")


def _show(config: SearchConfig, found: list[Trial], as_json: bool) -> None:
    """The winner as JSON, or all trials as a table, best first; whether it is on the edge of what was tried."""
    from murmura.studies.search.folder import best, ranked
    from murmura.studies.search.space import edge_sentence, edges

    model, metric, winner = config.search, config.metric, best(found, config.metric)
    if edge := edge_sentence(edges(model, winner.settings, config.space)):
        say(edge)
    if as_json:
        typer.echo(json.dumps({"model": model, "settings": winner.settings, metric: winner.value}))
        return
    rows = [[json.dumps(t.settings), f"{t.value:.5f}", f"{t.seconds:.1f}"] for t in ranked(found, metric)]
    table(f"{model} on the validation part of {config.data.name}", ["settings", metric, "seconds"], rows)
