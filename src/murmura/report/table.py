"""A table and its faces in files: CSV, Markdown, LaTeX (booktabs) and JSON; the page shows the same cells."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from murmura.core.plugins import imported
from murmura.engine.part_files import printable
from murmura.evaluation.significance import Interval

NONE = "–"  # what a reader sees where there is no value


@dataclass(frozen=True)
class TableCell:
    """A value as it is, and as it is shown; perhaps with an interval and a mark."""

    value: float | int | str | None
    text: str
    low: float | None = None
    high: float | None = None
    interval: str = ""  # the interval as it is shown
    mark: str = ""
    best: bool = False


@dataclass(frozen=True)
class Column:
    """A heading, what it means, and whether numbers stand under it."""

    title: str
    meaning: str = ""
    numeric: bool = True


NAME = Column("model", numeric=False)
MISSING = Interval(math.nan)


@dataclass(frozen=True)
class ReportTable:
    """A named table; the first cell of a row names the row."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...] = ()  # what the marks and intervals mean


def plain_table(
    name: str,
    title: str,
    heads: Iterable[str | Column] | Mapping[str, str],
    rows: Iterable[Sequence[Any]],
    *notes: str,
) -> ReportTable:
    """A table of plain values: text, an interval, a number with its decimals; a dash where there is none.

    A heading stands over numbers where no text is below it. A mapping says what each heading means.
    """
    cells = tuple(tuple(_cell(value) for value in row) for row in rows)
    meanings: Mapping[str, str] = heads if isinstance(heads, Mapping) else {}
    columns = []
    for place, head in enumerate(heads):
        words = any(isinstance(row[place].value, str) for row in cells) or not cells
        columns.append(Column(head, meanings.get(head, ""), not words) if isinstance(head, str) else head)
    return ReportTable(name, title, tuple(columns), cells, notes)


def _cell(value: Any) -> TableCell:
    if isinstance(value, TableCell):
        return value
    if isinstance(value, str):
        return text_cell(value)
    if isinstance(value, Interval):
        return interval_cell(value)
    return number_cell(*value) if isinstance(value, tuple) else number_cell(value)


def text_cell(value: object) -> TableCell:
    """A cell of text."""
    shown = printable(value)
    return TableCell(shown, shown)


def number_cell(value: float | int | None, decimals: int = 0) -> TableCell:
    """A cell with one number; a missing or undefined one is a dash."""
    if value is None or not math.isfinite(value):
        return TableCell(None, NONE)
    return TableCell(value, number(value, decimals))


def interval_cell(
    found: Interval, decimals: int = 3, mark: str = "", best: bool = False, between: str = " to "
) -> TableCell:
    """A mean with its interval, where it has one; a dash where the mean is undefined."""
    if not math.isfinite(found.mean):
        return TableCell(None, NONE)
    text = number(found.mean, decimals)
    if not math.isfinite(found.low):
        return TableCell(found.mean, text, mark=mark, best=best)
    shown = number(found.low, decimals) + between + number(found.high, decimals)
    return TableCell(found.mean, text, found.low, found.high, shown, mark, best)


def estimate_cell(estimate: Interval, decimals: int, mark: str = "", best: bool = False) -> TableCell:
    """A mean with its interval, where it has one."""
    if not estimate.low < estimate.high:  # none, or of no width
        estimate = Interval(estimate.mean)
    return interval_cell(estimate, decimals, mark, best, "–" if estimate.low >= 0 else " to ")


def number(value: float, decimals: int) -> str:
    """A number with thousands separated and a true minus sign."""
    text = f"{value:,.{decimals}f}"
    return text.replace("-", "\N{MINUS SIGN}") if float(text.replace(",", "")) else text.removeprefix("-")


def to_csv(table: ReportTable) -> str:
    """Every number in full; bounds and marks in columns of their own."""
    fields: list[tuple[str, int, str]] = []  # a heading, the column of its cells, and what of each
    for place, column in enumerate(table.columns):
        below, title = [row[place] for row in table.rows], column.title
        bounds = any(cell.low is not None for cell in below)
        marks = any(cell.mark for cell in below)
        parts = ("value", *(("low", "high") if bounds else ()), *(("mark",) if marks else ()))
        fields += [(title if part == "value" else f"{title} {part}", place, part) for part in parts]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heading for heading, _, _ in fields)
    writer.writerows([getattr(row[place], part) for _, place, part in fields] for row in table.rows)
    return out.getvalue()


def to_json(table: ReportTable) -> str:
    """Every number in full; a cell with bounds, a mark or the best value is an object."""
    titles = [column.title for column in table.columns]
    rows = [dict(zip(titles, map(_plain, row))) for row in table.rows]
    whole = {"title": table.title, "columns": titles, "rows": rows, "notes": table.notes}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _plain(cell: TableCell) -> Any:
    bounds = {"low": cell.low, "high": cell.high} if cell.low is not None else {}
    more = bounds | ({"mark": cell.mark} if cell.mark else {}) | ({"best": True} if cell.best else {})
    return {"value": cell.value, **more} if more else cell.value


def to_markdown(table: ReportTable) -> str:
    """The shown text; the best value bold, the interval in brackets."""
    heads = [_markdown(column.title) for column in table.columns]
    sides = ["---:" if column.numeric else ":---" for column in table.columns]
    rows = [heads, sides, *([_markdown_cell(cell) for cell in row] for row in table.rows)]
    lines = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return "\n\n".join([f"### {_markdown(table.title)}", lines, *map(_markdown, table.notes)]) + "\n"


def _markdown_cell(cell: TableCell) -> str:
    text = f"**{_markdown(cell.text)}**" if cell.best else _markdown(cell.text)
    return " ".join(filter(None, [text + cell.mark, cell.interval and f"[{cell.interval}]"]))


def _markdown(text: str) -> str:
    """Text with everything Markdown or the HTML inside it would act on made harmless."""
    safe = re.sub(r"([\\`*_\[\]#|~$])", r"\\\1", escape(text, quote=False))
    return safe.replace("\n", " ")


def to_latex(table: ReportTable) -> str:
    """A table for papers; what writes it is imported when it is asked for."""
    text: str = imported("murmura.lab.papers.latex:to_latex")(table)
    return text


class Format(NamedTuple):
    """A face of tables in files."""

    name: str
    media: str
    write: Callable[[ReportTable], str]


FORMATS = {  # by how their files end
    "csv": Format("CSV", "text/csv", to_csv),
    "md": Format("Markdown", "text/markdown", to_markdown),
    "tex": Format("LaTeX", "application/x-tex", to_latex),
    "json": Format("JSON", "application/json", to_json),
}
