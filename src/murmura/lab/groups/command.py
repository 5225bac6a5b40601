"""`murmura groups`: FedSPLIT's tables over groups, and every group tuned as in the paper."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.cli import options
from murmura.cli.console import say, table

if TYPE_CHECKING:
    from murmura.lab.groups.group_results import GroupTable

groups_app = typer.Typer(no_args_is_help=True, help="FedSPLIT's tables over groups, tuned or not.")


@groups_app.command("table")
def show(
    folder: Annotated[Path, typer.Argument(help="A folder `murmura compare --protocol fedsplit` wrote.")],
    as_json: options.Json = False,
) -> None:
    """Set runs beside their groups alone: improved groups, gains, errors as mean squared errors."""
    from murmura.lab.groups.group_results import read_groups

    _print(read_groups(folder), as_json)


@groups_app.command("tune")
@options.takes_reading
def tune(
    data: options.Data = "ml-latest-small",
    groupings: Annotated[int, typer.Option("--groupings", min=1, help="How often users are grouped.")] = 10,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Settings each group tries.")] = 100,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds of a trial.")] = 5,
    passes: Annotated[int, typer.Option("--passes", min=1, help="Passes of a trial's fit.")] = 100,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes with the chosen settings.")] = 500,
    seed: options.Seed = 0,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes; they change no result.")] = 2,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Let every group tune itself on its own training ratings, then compare on the test part.

    The same command with the same --out goes on where a killed one stopped, and more --groupings go on from
    fewer: a tuned group is not tuned again.
    """
    from murmura.data.sources.registry import load
    from murmura.lab.groups.group_results import read_groups
    from murmura.lab.groups.tuned_groups import Tuning, TuningRequest, tuned_table

    tuning = Tuning(trials=trials, folds=folds, passes=passes, epochs=epochs, seed=seed)
    folder = options.new_folder(out, data, "groups")
    source: dict[str, Any] = {"name": data, **reading}
    runs = tuned_table(
        load(data, data_dir, **reading), TuningRequest(groupings, tuning, workers), folder, say, source
    )
    _print(read_groups(runs), as_json)
    say(f"run folder: {runs}   (murmura report {runs})")


@groups_app.command("central")
@options.takes_reading
def central(
    data: options.Data = "ml-latest-small",
    model: Annotated[str, typer.Option("--model", help="A centralised model that predicts ratings.")] = "cnmf",
    splits: Annotated[int, typer.Option("--splits", min=1, help="How many test parts are drawn.")] = 10,
    data_dir: options.DataDir = None,
    reading: options.Reading = {},  # noqa: B006
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Fit a centralised model on several test parts of protocol fedsplit, as the paper's table 3 does.

    The same command with the same --out goes on where a killed one stopped.
    """
    from murmura.data.sources.registry import load
    from murmura.evaluation.significance import seed_interval
    from murmura.lab.groups.group_results import central_splits

    folder = options.new_folder(out, data, "central")
    found = []
    for one in central_splits(
        load(data, data_dir, **reading), model, splits, folder, {"name": data, **reading}
    ):
        found.append(one["mse"])
        say(f"split seed {one['split_seed']}: MSE {one['mse']:.4f}, RMSE {one['rmse']:.4f}")
        if as_json:
            typer.echo(json.dumps(one))
    mean = seed_interval(found)
    if not as_json:
        reach = f" ± {mean.high - mean.mean:.4f} (95 %, t)" if len(found) > 1 else ""
        typer.echo(f"{model} over {len(found)} test parts: MSE {mean.mean:.4f}{reach}")


def _print(found: GroupTable, as_json: bool) -> None:
    lines = found.summaries()
    if as_json:
        for line in lines:
            typer.echo(json.dumps({**asdict(line), "central": found.central.get("MSE")}))
        return
    rows = [
        [
            line.model,
            f"{line.groups} in {line.groupings}",
            f"{line.improved} ({line.improved / line.groups:.1%})",
            f"{line.alone:.3f}",
            f"{line.after:.3f}",
            f"{line.gain:+.3f}",
            f"{line.loss:+.3f}",
            f"{line.members_pearson:+.2f}",
            f"{line.ratings_pearson:+.2f}",
        ]
        for line in lines
    ]
    header = ["model", "groups", "improved", "MSE alone", "MSE after", "gain", "loss", "r members", "r ratings"]
    table("groups alone and after the exchange, mean squared errors over groups", header, rows)
    if central := found.central:
        typer.echo(f"all ratings in one place: MSE {central['MSE']:.3f}, RMSE {central['RMSE']:.3f}")
