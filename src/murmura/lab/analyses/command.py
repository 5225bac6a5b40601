"""`murmura analyse`: what a finished comparison or sweep says beyond its results.

All but `features` and `fidelity`, which need the data as well, read the folder alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmura.cli import options
from murmura.cli.report import show_table, write_report
from murmura.core.errors import RunError, SettingError

if TYPE_CHECKING:
    from murmura.report.table import ReportTable

analyse_app = typer.Typer(no_args_is_help=True, help="Read a finished sweep or comparison closely.")
Place = Annotated[Path, typer.Argument(help="A folder `murmura sweep` or `murmura compare` wrote.")]

Folder = Annotated[Path, typer.Argument(help="A folder `murmura compare` or `murmura fit` wrote.")]


@analyse_app.command("sweep")
def sweep(folder: Place, as_json: options.Json = False, as_csv: options.Csv = False) -> None:
    """Accuracy, coverage, communication and disclosure at every value of a sweep, and the Pareto front."""
    from murmura.lab.sweep.section import swept

    _answer(folder, swept(folder), as_json, as_csv)


@analyse_app.command("frequency")
def frequency(folder: Place, as_json: options.Json = False, as_csv: options.Csv = False) -> None:
    """How often items are updated in training and recommended, against their popularity."""
    from murmura.lab.analyses.exposure_sections import frequency_table
    from murmura.lab.analyses.item_exposure import frequencies
    from murmura.studies.compare.folder import ComparisonFolder

    _answer(folder, frequency_table(frequencies(ComparisonFolder.open(folder))), as_json, as_csv)


@analyse_app.command("bias")
def bias(folder: Place, as_json: options.Json = False, as_csv: options.Csv = False) -> None:
    """The bias of training and lists towards categories of items, and the bias disparity."""
    from murmura.lab.analyses.exposure_sections import bias_table
    from murmura.lab.analyses.item_exposure import bias as bias_of
    from murmura.lab.analyses.item_exposure import frequencies
    from murmura.studies.compare.folder import ComparisonFolder

    comparison = ComparisonFolder.open(folder)
    found = bias_of(comparison, frequencies(comparison))
    if found is None:
        raise RunError(
            f"{folder} must be of data whose items have categories, but it has none; "
            "compare on a data set that has, such as foursquare-italy."
        )
    _answer(folder, bias_table(found), as_json, as_csv)


@analyse_app.command("freshness")
def freshness(folder: Place, as_json: options.Json = False, as_csv: options.Csv = False) -> None:
    """How fresh the clients' models were, and what they scored: for sweeps over the clients per round."""
    from murmura.lab.analyses.training_sections import freshness_table
    from murmura.lab.sweep.folder import entry_points
    from murmura.lab.sweep.folder import freshness as freshness_of
    from murmura.studies.compare.folder import ComparisonFolder

    comparison = ComparisonFolder.open(folder)
    _answer(folder, freshness_table(freshness_of(entry_points(comparison)), comparison.cutoff), as_json, as_csv)


@analyse_app.command("tests")
def named_pairs(
    folder: Place,
    pair: Annotated[list[str], typer.Option("--pair", help="Two labels, `A,B`: A - B is tested; repeatable.")],
    as_json: options.Json = False,
    as_csv: options.Csv = False,
) -> None:
    """Test named models against each other, user by user: paired t-test and Wilcoxon, Holm-corrected."""
    from murmura.report.sections.differences import pair_table
    from murmura.report.summary import named_tests, summarise
    from murmura.studies.compare.folder import read_runs

    results = summarise(read_runs(folder))
    pairs = [_pair(one, [line.label for line in results.lines]) for one in pair]
    found = named_tests(results, list(dict.fromkeys(pairs)), results.metrics)
    _answer(folder, pair_table(found) if found else None, as_json, as_csv)


def _pair(text: str, labels: list[str]) -> tuple[str, str]:
    """The two labels of `A,B`; a label may have commas of its own."""
    ways = [(text[:place].strip(), text[place + 1 :].strip()) for place, one in enumerate(text) if one == ","]
    known = [(one, other) for one, other in ways if one in labels and other in labels and one != other]
    if len(known) != 1:
        raise SettingError(
            f"--pair must be two labels, A,B, out of {', '.join(labels)}, but is '{text}'; name two of them."
        )
    return known[0]


@analyse_app.command("features")
def features(
    folder: Folder, data_dir: options.DataDir = None, as_json: options.Json = False, as_csv: options.Csv = False
) -> None:
    """Which features people decide by before and after recommendation, and what the lists keep of them."""
    from murmura.lab.analyses.preservation import PRESERVATION, preservation_table

    _answer(folder, preservation_table(PRESERVATION.of_folder(folder, data_dir)), as_json, as_csv)


@analyse_app.command("fidelity")
def fidelity(
    folder: Folder, data_dir: options.DataDir = None, as_json: options.Json = False, as_csv: options.Csv = False
) -> None:
    """How often a first item leaves the list without its reason; a model that was not kept is trained again."""
    from murmura.lab.analyses.fidelity import FIDELITY, fidelity_table

    _answer(folder, fidelity_table(FIDELITY.of_folder(folder, data_dir)), as_json, as_csv)


def _answer(folder: Path, found: ReportTable | None, as_json: bool, as_csv: bool) -> None:
    if found is None:
        raise RunError(f"{folder} must hold a finished run this analysis can read, but has none; run it first.")
    if as_json:
        titles = [column.title for column in found.columns]
        for row in found.rows:
            typer.echo(json.dumps(dict(zip(titles, (cell.value for cell in row))), ensure_ascii=False))
        return
    if as_csv:
        from murmura.report.table import to_csv

        typer.echo(to_csv(found), nl=False)
        return
    show_table(found)
    write_report(folder)
