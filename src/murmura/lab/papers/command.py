"""`murmura reproduce`: the papers' tables and figures of results, one command each."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmura.cli import options
from murmura.cli.console import progress, say, table
from murmura.core.errors import DataError, MissingExtraError, SettingError

if TYPE_CHECKING:
    from murmura.core.progress import Progress
    from murmura.lab.papers.data_facts import DataFacts
    from murmura.lab.papers.experiments import Experiment, Row
    from murmura.lab.papers.reproduce import ExperimentPlace, FitListener

reproduce_app = typer.Typer(
    no_args_is_help=True, help="The papers' tables and figures of results, one command each."
)
Name = Annotated[
    str, typer.Argument(help="An experiment (see `murmura reproduce list`), or a file of your own.")
]
HERE = Path("runs") / "reproduce"


@reproduce_app.command("list")
def list_all(data_dir: options.DataDir = None) -> None:
    """List the experiments: on every data set the result that is kept, or what it lacks."""
    from murmura.lab.papers.experiments import experiment, experiment_names
    from murmura.lab.papers.published_results import saved_results, unique_verdicts

    rows, kept = [], saved_results()
    for name in experiment_names():
        one = experiment(name)
        states = _states(one, kept, data_dir)
        for place, (data, state) in enumerate(states.items()):
            rows.append([*([name, one.title] if place == 0 else ["", ""]), data, state])
    table("experiments", ["name", "what", "data", "state"], rows, text=True)
    if kept is not None:
        for what, found in zip(("of trained models", "sizes and costs"), unique_verdicts(kept)):
            words = ", ".join(f"{n:,} {word}" for word, n in found.most_common())
            say(f"printed numbers, each once, {what}: {found.total():,}: {words}")
    if kept is None:
        say("an installed package does not carry the kept results; they are in docs/results of the repository")


def _states(one: Experiment, kept: Path | None, data_dir: Path | None) -> dict[str, str]:
    """What is kept, data set by data set; of those that are not the paper's only what is kept or can be run."""
    from murmura.lab.papers.published_results import published_results

    known = published_results(one.name, kept) if kept else {}
    found = {data: result.text() for data, result in known.items()}
    for data in (*one.data, *one.also):
        if data not in found:
            missing = bool(_missing(data, data_dir))
            if not missing or data in one.data:
                found[data] = "the data set is not here" if missing else "not kept" if kept else "can be run"
    return {data: found[data] for data in dict.fromkeys((*one.data, *one.also, *found)) if data in found}


@reproduce_app.command("show")
def show(name: Name, data_dir: options.DataDir = None) -> None:
    """Show what an experiment runs, where its settings are searched, and what the paper prints."""
    from murmura.lab.papers.experiments import experiment
    from murmura.lab.papers.published_results import shares_with

    one = experiment(name)
    typer.echo(f"{one.title}\n{one.paper}\nwhat was found: {one.docs}")
    for data in one.data:
        what = _missing(data, data_dir)
        base = one.same_run_as.get(data)
        shown = f"  (the same run as {base})" if base else ""
        forecast = _forecast(shares_with(one, data), data)
        typer.echo(f"  {data}{shown}: {f'here; {forecast}' if not what else f'not here; {what}'}")
    if one.rows:
        rows = [
            [label, row.model, _given(row), _searched(row), _space(row.sweep)]
            for label, row in one.rows.items()
        ]
        table("rows", ["row", "model", "settings", "searched on the validation part", "swept"], rows, text=True)
    for data, printed in one.printed.items():
        keys = list(dict.fromkeys(key for found in printed.values() for key in found))
        rows = [
            [label, *(f"{found[k]:g}" if k in found else "" for k in keys)] for label, found in printed.items()
        ]
        table(f"printed for {data}", ["row", *keys], rows)
    for doubt in one.doubts:
        about = ", ".join([*doubt.data, *doubt.rows, *doubt.metrics]) or "everything"
        typer.echo(f"doubtful ({about}): {doubt.reason}")


@reproduce_app.command("run")
def run(
    name: Name,
    data: Annotated[str, typer.Option("--data", help="One data set; default: every one that is here.")] = "",
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Its cheap rows on one data set of the paper; without one, a small run."),
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", help="The folder; default runs/reproduce.")] = None,
    workers: options.Processes = 2,
    cluster: options.Cluster = "",
    cluster_tls: options.ClusterTls = None,
    data_dir: options.DataDir = None,
) -> None:
    """Run an experiment and write its page; fetches nothing. After an interruption the same command goes on."""
    from murmura.lab.papers.reproduce import fits, reproduce

    team = options.team(workers, cluster, cluster_tls)
    shown, places = _places(name, data, quick, out or HERE, data_dir)
    if shown.of_data:  # nothing is trained
        _finish(shown, [], out or HERE, {place.data: place.counted() for place in places})
        return
    for place in places:
        say(f"{place.experiment.name} on {place.data}: {place.folder}")
        if not quick:
            say(_forecast(place.experiment, place.data))
        with progress() as listener:
            started = time.perf_counter()
            listener.begin(f"{place.experiment.name} on {place.data}", fits(place.experiment))
            reproduce(place, team, _teller(listener))
            listener.end()
            say(f"finished after {(time.perf_counter() - started) / 60:.1f} min")
    _finish(shown, places, out or HERE)
    if quick:
        _show_numbers(out or HERE, shown.name)


def _show_numbers(out: Path, name: str) -> None:
    """What was printed beside what came out, row by row, from the file that was written."""
    from murmura.engine.part_files import PartFiles

    if not (files := PartFiles(out)).has(f"{name}.csv"):
        return
    shown: dict[str, Any] = dict.fromkeys(("data", "row", "metric", "printed", "ours", "verdict"), str)
    shown |= {"printed": _number, "ours": _number}
    rows = [[*row] for row in files.read_columns(f"{name}.csv", **shown) if row[4]]
    table(
        f"{name} --quick: one seed, few values to choose from", list(shown), rows, ["row", "metric", "verdict"]
    )


def _number(text: str) -> str:
    return f"{float(text):.5g}" if text else ""


@reproduce_app.command("keep")
def keep_run(
    name: Name,
    out: Annotated[Path | None, typer.Option("--out", help="The run's folder; default runs/reproduce.")] = None,
    into: Annotated[
        Path | None, typer.Option("--into", help="The folder of kept results; default: the checkout's.")
    ] = None,
) -> None:
    """Keep what a whole run wrote, beside the kept results of its other data sets."""
    from murmura.lab.papers.experiments import experiment
    from murmura.lab.papers.published_results import publish, saved_results

    if (place := into or saved_results()) is None:
        raise SettingError("--into must name a folder: an installed package has no kept results.")
    for path in publish(experiment(name), out or HERE, place):
        say(str(path))


def _places(
    name: str, data: str, quick: bool, out: Path, data_dir: Path | None
) -> tuple[Experiment, list[ExperimentPlace]]:
    """What is run where: every data set that is here, or the one that was asked for."""
    from murmura.lab.papers.experiments import experiment
    from murmura.lab.papers.published_results import shares_with
    from murmura.lab.papers.reproduce import ExperimentPlace

    shown = experiment(name)
    wanted = [data] if data else [_quick_data(shown, data_dir)] if quick else list(shown.data)
    missing = {one: _missing(one, data_dir) for one in wanted}
    here = [one for one in wanted if not missing[one]]
    for one in wanted:
        if missing[one]:
            say(f"{one} is not here and is left out: {missing[one]}")
    if not here and not shown.counts:
        others = [one for one in shown.also if not _missing(one, data_dir)]
        hint = f"; or run it on {' or '.join(others)} with --data" if others else ""
        raise DataError(f"{shown.name} needs {' or '.join(wanted)}, but none of them is here{hint}.")
    places = []
    for one in here:
        base = shares_with(shown, one)
        ran = (one in shown.data and base.cheap()) or base.smaller(one) if quick else base
        folder = out / f"{base.name}-{Path(one).stem}{'-quick' if quick else ''}"
        places.append(ExperimentPlace(ran, one, folder, data_dir))
    return shown, places


def _quick_data(shown: Experiment, data_dir: Path | None) -> str:
    """The smallest data set of the paper that is here, where some of its rows are cheap."""
    from murmura.lab.papers.published_results import shares_with

    here = {one: size for one in shown.data if (size := _bytes_here(one, data_dir))}
    able = [one for one in here if shown.of_data or shares_with(shown, one).cheap() is not None]
    if able and shown.quick.data == "embedded":
        return min(able, key=lambda one: here[one])
    why = "no row of it takes seconds" if here else f"none of {', '.join(shown.data)} is here"
    say(f"{why}, so every row is run small on {shown.quick.data}: the numbers mean little")
    return shown.quick.data


def _bytes_here(data: str, data_dir: Path | None) -> int:
    """How large the files of a data set are, 1 of what comes with the package or is made up; 0: not here."""
    from murmura.data.sources.registry import MADE_UP, data_folder, find_source

    source, folder = find_source(data), data_folder(data_dir)
    if source is None or not source.files:
        return int(source is not None or data in MADE_UP)
    if folder is None or not source.fits(folder / source.name):
        return 0
    return sum(path.stat().st_size for path in (folder / source.name).iterdir() if path.is_file())


def _forecast(ran: Experiment, data: str) -> str:
    """How long a run will take: as long as the kept one, or as its first fits will tell."""
    from murmura.lab.papers.published_results import cost_before
    from murmura.lab.papers.reproduce import fits

    known = cost_before(ran, data)
    if known is None:
        return f"{fits(ran)} fits; how long they take is told from the first on"
    return f"{fits(ran)} fits; the kept run took {known.minutes} CPU minutes for {known.fits}"


def _finish(
    shown: Experiment, places: list[ExperimentPlace], out: Path, counted: Mapping[str, DataFacts] | None = None
) -> None:
    from murmura.lab.papers.experiment_page import write

    try:
        for path in write(shown, places, out, counted):
            say(str(path))
    except MissingExtraError as error:
        say(f"no report: {error}")


def _missing(data: str, data_dir: Path | None) -> str:
    """How to supply a data set that is not here; "" when it is."""
    from murmura.data.sources.registry import MADE_UP, data_folder, find_source, unknown_name
    from murmura.data.tables.interactions_file import looks_like_a_file

    source = find_source(data)
    if source is None:
        if data in MADE_UP or Path(data).exists():
            return ""
        raise SettingError(f"{data} is no file." if looks_like_a_file(data) else unknown_name(data))
    folder = data_folder(data_dir)
    if not source.files or (folder is not None and source.fits(folder / source.name)):
        return ""
    return f"{source.advice((folder or Path('<data folder>')) / source.name)}" + (
        "" if folder else ", then name the data folder with --data-dir or MURMURA_DATA"
    )


def _searched(row: Row) -> str:
    """The grids of a row, or the row whose choice it takes over."""
    return f"as {row.tuned_as}" if row.tuned_as else " then ".join(map(_space, row.search))


def _given(row: Row) -> str:
    """Its own settings, and whether it takes what is kept below them."""
    from murmura.lab.papers.experiments import AS_COMPARE

    return "; ".join(filter(None, (AS_COMPARE if row.kept else "", _space(row.settings))))


def _space(axes: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in axes.items())


def _teller(listener: Progress) -> FitListener:
    """Tells a person how far it is: a bar where there is a screen, a line per fit where there is none."""

    def tell(what: str, seconds: float, done: int, total: int, left: float) -> None:
        listener.advance()
        if seconds:  # otherwise it was there before
            say(f"[{done}/{total}, about {left / 60:.0f} min left] {what} ({seconds:.0f} s)")

    return tell


@reproduce_app.command("search")
def search_plan(
    plan: Annotated[Path, typer.Argument(help="A YAML file of many grids, as experiments/defaults.yaml.")],
    history: Annotated[Path, typer.Option("--history", help="The CSV of trials that is kept.")],
    rule: Annotated[
        Path | None, typer.Option("--rule", help="Write how the rule does on data that are left out, as CSV.")
    ] = None,
    workers: options.Processes = 1,
    data_dir: options.DataDir = None,
) -> None:
    """Try what is missing of many searches, and print the winners as YAML: how the kept settings are made."""
    from murmura.lab.papers.plan_file import check_rule, read_plan

    choices, read = [], read_plan(plan)
    with progress() as listener:
        for choice in read.run(history, data_dir, workers, listener):
            choices.append(choice)
            where = f"{choice.protocol}/{choice.data}/{choice.model}"
            say(
                f"{where}: {choice.metric} {choice.value:.5f} of {choice.trials}: {json.dumps(choice.settings)}"
            )
    if rule is None:
        typer.echo(read.as_defaults(choices), nl=False)
        return
    shown = ("model", "protocol", "data", "settings", "share of rule", "share of class defaults")
    rows = [[str(row[key]) for key in shown] for row in check_rule(read, history, data_dir, rule)]
    table("the rule from sizes, whole families of data left out", list(shown), rows)


@reproduce_app.command("trade-offs")
def trade_offs(
    results: Annotated[
        Path | None,
        typer.Option("--results", help="The folder of kept results; default: that of this checkout."),
    ] = None,
) -> None:
    """Write the page of trade-offs anew from the results that are kept: every federated method side by side."""
    from murmura.lab.papers.published_results import saved_results
    from murmura.lab.papers.trade_offs import write_trade_offs

    kept = saved_results()
    if (place := results or (kept and kept.parent)) is None:
        raise SettingError(
            "the kept results are in docs/results of a checkout, but this is none; give --results FOLDER."
        )
    page, picture, problems = write_trade_offs(place)
    for problem in problems:
        say(f"not measured, as {problem}")
    say(f"wrote {page} and {picture}")
