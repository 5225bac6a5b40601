"""`murmura search`: choose settings on the validation part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from murmura.cli import options
from murmura.cli.console import progress, say, table
from murmura.core.errors import SettingError


def search(
    model: Annotated[str, typer.Option("--model", help="Which model.")] = "",
    grid: Annotated[
        list[str], typer.Option("--grid", metavar="KEY=V,V", help="An axis of the grid; repeatable.")
    ] = [],  # noqa: B006
    plan: Annotated[
        Path | None, typer.Option("--plan", help="A YAML file of many grids; prints the winners as YAML.")
    ] = None,
    data: options.Data = "ml-latest-small-2016",
    protocol: options.ProtocolName = "default",
    settings: options.Set = [],  # noqa: B006
    metric: Annotated[str, typer.Option("--metric", help="What is maximised on the validation part.")] = "P@10",
    history: Annotated[
        Path | None, typer.Option("--history", help="A CSV of trials; an interrupted search goes on.")
    ] = None,
    seed: options.Seed = 0,
    data_dir: options.DataDir = None,
    workers: options.Workers = 1,
    as_json: options.Json = False,
) -> None:
    """Try a grid of settings on training minus validation, scored on validation. The test part stays closed."""
    if plan is not None:
        _run_plan(plan, history, data_dir, workers)
        return
    if not model or not grid:
        raise SettingError("search needs --model and at least one --grid KEY=V,V, or --plan FILE.")
    from murmura.data.sources import load
    from murmura.engine.protocol import prepare
    from murmura.engine.protocol import protocol as protocol_of
    from murmura.studies.search import best
    from murmura.studies.search import grid as every
    from murmura.studies.search import search as run

    fixed = options.parse_settings(settings, [model])[model]
    candidates = [{**fixed, **one} for one in every(_axes(grid))]
    dataset = load(data, data_dir)
    selection = prepare(dataset, protocol_of(protocol, dataset)).selection()
    trials = []
    with progress() as listener:
        for trial in run(
            selection, model, candidates, history, metric=metric, seed=seed, workers=workers, progress=listener
        ):
            trials.append(trial)
            say(f"{metric} {trial.value:.5f} in {trial.seconds:.1f} s with {json.dumps(trial.settings)}")
    winner = best(trials)
    if as_json:
        typer.echo(json.dumps({"model": model, "settings": winner.settings, metric: winner.value}))
        return
    ranked = sorted(trials, key=lambda trial: -trial.value)
    rows = [[json.dumps(t.settings), f"{t.value:.5f}", f"{t.seconds:.1f}"] for t in ranked]
    table(f"{model} on the validation part of {data}", ["settings", metric, "seconds"], rows)


def _run_plan(plan: Path, history: Path | None, data_dir: Path | None, workers: int) -> None:
    from murmura.studies.search_plan import as_defaults, read_plan, run_plan

    choices = []
    with progress() as listener:
        for choice in run_plan(read_plan(plan), history, data_dir, workers, listener):
            choices.append(choice)
            where = f"{choice.protocol}/{choice.data}/{choice.model}"
            winner = choice.winner
            say(
                f"{where}: {choice.metric} {winner.value:.5f} of {choice.trials}: {json.dumps(winner.settings)}"
            )
    typer.echo(as_defaults(choices), nl=False)


def _axes(given: list[str]) -> dict[str, list[Any]]:
    axes = {}
    for one in given:
        key, equals, text = one.partition("=")
        if not equals or not text:
            raise SettingError(
                f"--grid must be KEY=VALUE,VALUE, but it is '{one}'; write for example --grid k=50,100."
            )
        axes[key] = [options.parse_value(value) for value in text.split(",")]
    return axes
