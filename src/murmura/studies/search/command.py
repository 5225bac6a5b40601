"""`murmura search`: choose settings on the validation part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from murmura.cli import options
from murmura.cli.commands import of_the_lab
from murmura.cli.console import progress, say, table
from murmura.cli.report import tell_tracker
from murmura.core.errors import SettingError

if TYPE_CHECKING:
    from murmura.studies.runs.trials import Trial
    from murmura.studies.search.run import SearchConfig
    from murmura.studies.worker_pool import Workers

Grid = Annotated[list[str], typer.Option("--grid", metavar="KEY=V,V", help="Values of a setting; repeatable.")]
Ranges = Annotated[
    list[str], typer.Option("--space", metavar="KEY=LOW:HIGH[:log][:int]", help="A range, for tpe; repeatable.")
]
Sampler = Annotated[
    Literal["grid", "tpe"], typer.Option("--sampler", help="Every combination, or Optuna's TPE.")
]
Trials = Annotated[int, typer.Option("--trials", min=1, help="How many settings tpe tries in all.")]
Patience = Annotated[
    int | None, typer.Option("--patience", min=1, help="Stop a fit after so many epochs without a better one.")
]
Plan = Annotated[
    Path | None, typer.Option("--plan", help="A YAML file of many grids; prints the winners as YAML.")
]
Rule = Annotated[
    Path | None,
    typer.Option("--rule", help="With --plan: a CSV of the rule from sizes, each data set left out."),
]
Metric = Annotated[str, typer.Option("--metric", help="What decides; of errors the lowest wins.")]
History = Annotated[
    Path | None, typer.Option("--history", help="A CSV of trials that searches share; default: in --out.")
]


@options.takes_reading
def search(
    model: Annotated[str, typer.Option("--model", help="Which model.")] = "",
    grid: Grid = [],  # noqa: B006
    space: Ranges = [],  # noqa: B006
    sampler: Sampler = "grid",
    trials: Trials = 20,
    patience: Patience = None,
    plan: Plan = None,
    rule: Rule = None,
    data: options.Data = "ml-latest-small-2016",
    protocol: options.ProtocolName = "default",
    split: options.SplitName = "",
    candidates: options.CandidateCount = None,
    order: options.OneOrder = "",
    settings: options.Set = [],  # noqa: B006
    metric: Metric = "P@10",
    history: History = None,
    seed: options.Seed = 0,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
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
    if plan is not None:
        _run_plan(plan, history, data_dir, team, rule)
        return
    if rule is not None:
        raise SettingError("--rule needs --plan: the data sets that are left out in turn are those of a plan.")
    if not model or not (grid or space):
        raise SettingError(
            "search needs --model and at least one --grid KEY=V,V or --space KEY=LOW:HIGH, or --plan FILE."
        )
    from murmura.studies.configuration import DataConfig
    from murmura.studies.search.run import SearchConfig, search_run
    from murmura.tracking import tracker

    told = tracker(log)
    config = SearchConfig(
        data=DataConfig(name=data, dir=str(data_dir) if data_dir else None, **reading),
        protocol=options.one_order(options.changed_protocol(protocol, split, candidates), order),
        search=model,
        fixed=options.parse_settings(settings, [model])[model],
        sampler=sampler,
        space=_axes(grid, space),
        metric=metric,
        patience=patience,
        seed=seed,
    )
    folder, found = options.new_folder(out, data, "search", model), []
    with progress() as listener:
        listener.begin("trials", len(config.candidates(trials)))
        for trial in search_run(
            config, folder, trials=trials, history=history, workers=team, progress=listener, heard=say
        ):
            found.append(trial)
            listener.advance()
            say(f"{metric} {trial.value:.5f} in {trial.seconds:.1f} s with {json.dumps(trial.settings)}")
    _show(config, found, as_json)
    tell_tracker(told, folder)
    say(f"run folder: {folder}   (murmura evaluate {folder} opens the test part; murmura report {folder})")


def _show(config: SearchConfig, found: list[Trial], as_json: bool) -> None:
    """The winner as JSON, or all trials as a table, best first; whether it is on the edge of what was tried."""
    from murmura.studies.runs.trials import best, ranked
    from murmura.studies.search.grid_edges import edge_sentence, edges

    model, metric, winner = config.search, config.metric, best(found, config.metric)
    if edge := edge_sentence(edges(model, winner.settings, config.space)):
        say(edge)
    if as_json:
        typer.echo(json.dumps({"model": model, "settings": winner.settings, metric: winner.value}))
        return
    rows = [[json.dumps(t.settings), f"{t.value:.5f}", f"{t.seconds:.1f}"] for t in ranked(found, metric)]
    table(f"{model} on the validation part of {config.data.name}", ["settings", metric, "seconds"], rows)


def _run_plan(
    plan: Path, history: Path | None, data_dir: Path | None, workers: Workers, rule: Path | None
) -> None:
    from murmura.studies.search.plan_file import as_defaults, read_plan, run_plan

    if rule is not None and history is None:
        raise SettingError("--rule needs --history FILE: what it is checked with are the trials kept there.")
    choices, read = [], read_plan(plan)
    with progress() as listener:
        for choice in run_plan(read, history, data_dir, workers, listener):
            choices.append(choice)
            where = f"{choice.protocol}/{choice.data}/{choice.model}"
            winner = choice.winner
            say(
                f"{where}: {choice.metric} {winner.value:.5f} of {choice.trials}: {json.dumps(winner.settings)}"
            )
    if rule is None:
        typer.echo(as_defaults(choices), nl=False)
        return
    rows = of_the_lab("rule check")(read, history, data_dir, rule)
    shown = ("model", "protocol", "data", "settings", "share of rule", "share of class defaults")
    table(
        "the rule from sizes, each data set left out",
        list(shown),
        [[str(row[k]) for k in shown] for row in rows],
    )


def _axes(grid: list[str], space: list[str]) -> dict[str, list[Any] | str]:
    axes: dict[str, list[Any] | str] = {}
    for key, text in _pairs("--grid", grid).items():
        axes[key] = [options.parse_value(value) for value in text.split(",")]
    return axes | _pairs("--space", space)


def _pairs(flag: str, given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        key, equals, text = one.partition("=")
        if not equals or not text or not key:
            example = "k=50,100" if flag == "--grid" else "alpha=0.01:0.3:log"
            raise SettingError(f"{flag} must be KEY=…, but it is '{one}'; write for example {flag} {example}.")
        found[key] = text
    return found
