"""The page of a reproduction as Markdown, from the file of its tables.

`reproduce run` writes the file, `reproduce keep` keeps it, and the site builds the page of what is kept.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from murmura.core.errors import RunError
from murmura.lab.papers.experiments import Experiment
from murmura.lab.papers.kept import TABLES
from murmura.report.table import Column, ReportTable, TableCell, to_markdown

HEADER = ("data", "part", "cells")  # parts: command, title, heads, sides (1: numbers), row, note
_INTERVAL = re.compile(r"(.*) \[([\d\N{MINUS SIGN}][^\[\]]*)\]")


class _Line(NamedTuple):
    data: str
    part: str
    cells: list[str]


def tables_csv(parts: Iterable[tuple[str, str, Iterable[ReportTable]]]) -> str:
    """What a page shows: of each data set its command and its tables."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for data, command, tables in parts:
        writer.writerows([data, "command", line] for line in command.splitlines())
        for table in tables:
            writer.writerow([data, "title", table.title])
            writer.writerow([data, "heads", *(column.title for column in table.columns)])
            writer.writerow([data, "sides", *(int(column.numeric) for column in table.columns)])
            writer.writerows([data, "row", *map(_shown, row)] for row in table.rows)
            writer.writerows([data, "note", note] for note in table.notes)
    return out.getvalue()


def kept_page(shown: Experiment, folder: Path) -> str:
    """The head, and a section for every data set the folder has."""
    lines = _lines(folder / f"{shown.name}{TABLES}")
    parts = [f"# {shown.name}: {shown.title}\n\n{shown.paper}. What was found: {shown.docs}.\n"]
    for data in dict.fromkeys(line.data for line in lines):
        own = [line for line in lines if line.data == data]
        command = "\n".join(line.cells[0] for line in own if line.part == "command")
        parts += [f"## {data}\n\n{indent(command, '    ')}\n", *map(to_markdown, _tables(own))]
    missing = absent(shown, {line.data for line in lines})
    return "\n".join([*parts, *([f"{missing}\n"] if missing else [])])


def absent(shown: Experiment, here: Container[str]) -> str:
    """The data sets of a table of data that are not here, with where to read how to get them."""
    missing = [data for data in shown.data if data not in here] if shown.of_data else []
    how = f"`murmura reproduce show {shown.name}` says what to get."
    return f"Not here: {', '.join(missing)}. {how}" if missing else ""


def _lines(path: Path) -> list[_Line]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    if tuple(header) != HEADER:
        raise RunError(f"{path} must have the columns {', '.join(HEADER)}; run the experiment again.")
    return [_Line(data, part, cells) for data, part, *cells in rows]


def _tables(own: Sequence[_Line]) -> list[ReportTable]:
    """Each table from its title to the next."""
    titles = [place for place, line in enumerate(own) if line.part == "title"]
    return [_table(own[first:last]) for first, last in zip(titles, [*titles[1:], len(own)])]


def _table(lines: Sequence[_Line]) -> ReportTable:
    def of(part: str) -> list[list[str]]:
        return [line.cells for line in lines if line.part == part]

    columns = tuple(Column(head, numeric=side == "1") for head, side in zip(*of("heads"), *of("sides")))
    rows = tuple(tuple(map(_cell, cells)) for cells in of("row"))
    return ReportTable("", lines[0].cells[0], columns, rows, tuple(cells[0] for cells in of("note")))


def _shown(cell: TableCell) -> str:
    """The text of a cell, its mark and its interval."""
    return " ".join(filter(None, [cell.text + cell.mark, cell.interval and f"[{cell.interval}]"]))


def _cell(text: str) -> TableCell:
    found = _INTERVAL.fullmatch(text)
    return TableCell(None, found[1], interval=found[2]) if found else TableCell(None, text)
