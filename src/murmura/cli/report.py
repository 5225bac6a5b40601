"""`murmura report`: a run folder becomes one page to look at, print and send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from murmura.cli.console import say, table
from murmura.core.errors import MissingExtraError

if TYPE_CHECKING:
    from murmura.report.table import ReportTable


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
