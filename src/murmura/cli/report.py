"""`murmura report`: a run folder becomes one page to look at, print and send."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from murmura.cli.console import say, table
from murmura.core.errors import MissingExtraError, SettingError

if TYPE_CHECKING:
    from murmura.report.table import ReportTable
    from murmura.tracking.mlflow_tracker import MlflowTracker

# nobody else is told, and an address where nobody is fails in seconds instead of minutes
QUIETLY = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}


def report(
    folder: Annotated[Path, typer.Argument(help="A folder compare, sweep, fit or search wrote.")],
    out: Annotated[Path | None, typer.Option("--out", help="The page; default FOLDER/report.html.")] = None,
    show: Annotated[
        Literal["yes", "no"], typer.Option("--open", help="Open the page in the web browser.")
    ] = "no",
) -> None:
    """Write one self-contained HTML page, and its tables as CSV, Markdown, LaTeX and JSON beside it."""
    from murmura.report import build

    page = build(folder, out)
    typer.echo(page)
    say(f"tables: {page.with_name(f'{page.stem}-tables')}")
    if show == "yes":
        import webbrowser

        webbrowser.open(page.resolve().as_uri())


def tracker(target: str) -> MlflowTracker | None:
    """Who is told, by what --log says; None: nobody. Refuses before any work what cannot be told later."""
    if not target:
        return None
    kind, colon, uri = target.partition(":")
    if kind != "mlflow" or not colon or not uri:
        raise SettingError(
            f"--log must be mlflow:URI, but it is '{target}'; write for example --log mlflow:sqlite:///runs.db "
            "or --log mlflow:http://localhost:5000."
        )
    for key, value in QUIETLY.items():
        os.environ.setdefault(key, value)
    try:
        from murmura.tracking.mlflow_tracker import MlflowTracker
    except ImportError:
        raise MissingExtraError("--log mlflow", "mlflow") from None
    return MlflowTracker.connect(uri)


def tell_tracker(told: MlflowTracker | None, folder: Path) -> None:
    """What --log asks for at the end: what the folder holds, and its report where that can be drawn."""
    if told is None:
        return
    from murmura.report import build

    page: Path | None = None
    try:
        page = build(folder)
    except MissingExtraError as error:
        say(f"no report: {error}")
    told.tell(folder, page)
    say(f"told mlflow:{told.uri}")


def show_table(found: ReportTable) -> None:
    """A table of a report."""
    rows = [[cell.text for cell in row] for row in found.rows]
    table(found.title, [column.title for column in found.columns], rows)
    for note in found.notes:
        say(note)


def write_report(folder: Path) -> None:
    """Write the report of a folder, where the drawing part is installed."""
    from murmura.report import build

    try:
        say(f"report: {build(folder)}")
    except MissingExtraError as error:
        say(f"no report: {error}")
