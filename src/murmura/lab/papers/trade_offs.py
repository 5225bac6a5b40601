"""What every method trades for what, side by side, from results that are kept: `docs/results/trade-offs.yaml`.

A cell names where its number is kept, as the marks of the documentation do: `file; key=value; …; column`, the
file below docs/results. Of several lines that fit the mean counts, or the `max` where the last word says so; of
several places the first that has a number.
What is not kept, or not there yet, is "not measured": the page is made again when it is.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from murmura.core.errors import DataError, SettingError
from murmura.engine.part_files import PartFiles
from murmura.report.drawing import FILE_MUTED, Axes, page_style, require_report
from murmura.report.page import rendered

NAME = "trade-offs.yaml"
NOT_MEASURED = "not measured"
NOTHING = ("", "-", None)  # a cell that has no meaning for its row
_OVER: Mapping[str, Callable[[Iterable[float]], float]] = {"mean": fmean, "max": max, "min": min}


@dataclass(frozen=True)
class TradeOffColumn:
    """One thing that is measured of every method."""

    key: str
    title: str
    digits: int = 4
    better: str = ""  # "more" or "less", where one is


@dataclass(frozen=True)
class MethodRow:
    """One method: a number for each column, None where none is kept; absent where it has no meaning."""

    name: str
    reads: str  # what the servers read of a person
    reference: bool  # a centralised method, to compare with
    cells: Mapping[str, float | None]
    problems: tuple[str, ...] = ()  # cells that name a column which their file does not have


@dataclass(frozen=True)
class TradeOffs:
    """Methods on one data set under one protocol."""

    title: str
    about: str
    columns: tuple[TradeOffColumn, ...]
    rows: tuple[MethodRow, ...]

    @property
    def problems(self) -> list[str]:
        """Of all rows."""
        return [problem for row in self.rows for problem in row.problems]

    def text(self, row: MethodRow, column: TradeOffColumn) -> str:
        """A cell for people."""
        if column.key not in row.cells:
            return ""
        value = row.cells[column.key]
        return NOT_MEASURED if value is None else printed(value, column.digits)


def printed(value: float, digits: int) -> str:
    """A number with so many digits after the point, without a zero before it."""
    text = f"{value:,.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def read_trade_offs(results: Path) -> tuple[TradeOffs, ...]:
    """The tables that the file in this folder describes, with the numbers that its CSV files have now."""
    path = results / NAME
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError:
        raise DataError(f"trade-offs need the file {path}, but it cannot be read; run in a checkout.") from None
    published_lines.cache_clear()
    columns = [TradeOffColumn(key, **spec) for key, spec in found["columns"].items()]
    tables = []
    for spec in found["tables"]:
        shown = tuple(column for column in columns if column.key in spec["shows"])
        rows = tuple(_row(results, name, one, shown) for name, one in spec["rows"].items())
        tables.append(TradeOffs(spec["title"], spec.get("about", ""), shown, rows))
    return tuple(tables)


def _row(results: Path, name: str, spec: Mapping[str, Any], columns: Sequence[TradeOffColumn]) -> MethodRow:
    """A number that is given, or the first of some places that has one; what names no column is told of."""
    known = {"reads", "reference", *(column.key for column in columns)}
    if strange := sorted(set(spec) - known):
        raise SettingError(
            f"a row of trade-offs has {', '.join(sorted(known))}, but '{name}' has '{strange[0]}'."
        )
    cells, problems = dict[str, float | None](), list[str]()
    for column in columns:
        where = spec.get(column.key, NOT_MEASURED)
        for place in where if isinstance(where, list) else [where]:
            if place not in NOTHING and cells.get(column.key) is None:
                try:
                    cells[column.key] = published_number(results, place)
                except SettingError as error:
                    cells[column.key] = None
                    problems.append(str(error))
    return MethodRow(name, spec.get("reads", ""), bool(spec.get("reference")), cells, tuple(problems))


def published_number(results: Path, where: str | float) -> float | None:
    """The number that a cell is, or names; None: it is not kept."""
    if not isinstance(where, str):
        return float(where)
    if where == NOT_MEASURED:
        return None
    file, *parts = (part.strip() for part in where.split(";"))
    over = _OVER[parts.pop()] if parts and parts[-1] in _OVER else fmean
    column, picks = parts[-1], dict(_pick(part, where) for part in parts[:-1])
    lines = published_lines(results / file)
    if lines and not {column, *picks} <= lines[0].keys():
        missing = next(key for key in (column, *picks) if key not in lines[0])
        raise SettingError(f"the columns of {file} are {', '.join(lines[0])}, but '{where}' names '{missing}'.")
    fitting = [line[column] for line in lines if all(_same(line[key], value) for key, value in picks.items())]
    numbers = [float(text) for text in fitting if text]
    return over(numbers) if numbers else None


def _same(kept: str, wanted: str) -> bool:
    """Equal as text, or as numbers: 4 is 4.0."""
    try:
        return kept == wanted or float(kept) == float(wanted)
    except ValueError:
        return False


def _pick(part: str, where: str) -> tuple[str, str]:
    key, found, value = part.partition("=")
    if not found:
        raise SettingError(f"between file and column stand parts like key=value, but '{where}' has '{part}'.")
    return key.strip(), value.strip()


@lru_cache(maxsize=64)
def published_lines(path: Path) -> list[dict[str, str]]:
    """The lines of a kept table; none where it is not there."""
    if not path.exists():
        return []
    header, rows = PartFiles(path.parent).read_table(path.name)
    return [dict(zip(header, row)) for row in rows]


PAGE, PICTURE = "trade-offs.md", "trade-offs.svg"
COLOURS = {"each update": "#d55e00", "sums without noise": "#0072b2", "noisy sums": "#009e73"}
MARKERS = {"each update": "s", "sums without noise": "o", "noisy sums": "D"}


def write_trade_offs(results: Path) -> tuple[Path, Path, list[str]]:
    """Write page and picture into the folder of kept results; also what the definition names in vain."""
    tables = read_trade_offs(results)
    page, picture = results / PAGE, results / PICTURE
    page.write_text(trade_offs_text(tables), encoding="utf-8")
    picture.write_text(trade_off_picture(tables[0]), encoding="utf-8")
    return page, picture, [problem for table in tables for problem in table.problems]


def trade_offs_text(tables: tuple[TradeOffs, ...]) -> str:
    """The page."""
    return rendered("trade-offs.jinja", tables=tables, heads=_heads, cells=_cells)


def _heads(table: TradeOffs) -> list[str]:
    arrows = {"more": " ↑", "less": " ↓", "": ""}
    return ["method", "servers read", *(one.title + arrows[one.better] for one in table.columns)]


def _cells(table: TradeOffs, row: MethodRow) -> list[str]:
    name = f"*{row.name}*" if row.reference else row.name
    return [name, row.reads, *(table.text(row, column) for column in table.columns)]


def trade_off_picture(table: TradeOffs) -> str:
    """SVG: a line for each federated method, its accuracy to the right; centralised ones are upright lines."""
    require_report()
    from matplotlib import style
    from matplotlib.figure import Figure

    first = table.columns[0].key
    rows = [row for row in table.rows if not row.reference and row.cells.get(first) is not None]
    rows.sort(key=lambda row: float(row.cells[first] or 0))
    with style.context(page_style("trade-offs", "file"), after_reset=True):
        height = 1.9 + 0.34 * len(rows)  # inches: a line for each, title and legend
        figure = Figure(figsize=(10.5, height), dpi=72)
        axes = figure.add_axes((0.25, 0.85 / height, 0.36, 1 - 1.75 / height))
        _paint(axes, table, rows)
        _tabulate(axes, table, rows)
        figure.text(0.02, 1 - 0.1 / height, table.title, fontsize=10.5, fontweight="bold", va="top")
        figure.legend(loc="lower center", bbox_to_anchor=(0.45, 0.0), ncol=3, frameon=False, fontsize=8)
        corner: dict[str, Any] = {"color": FILE_MUTED, "ha": "right", "va": "bottom"}
        figure.text(0.98, 0.08 / height, "? not measured", fontsize=7, **corner)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def _paint(axes: Axes, table: TradeOffs, rows: list[MethodRow]) -> None:
    first = table.columns[0]
    for at, row in enumerate(rows):
        value = float(row.cells[first.key] or 0)
        marker, colour = MARKERS.get(row.reads, "o"), COLOURS.get(row.reads, FILE_MUTED)
        axes.plot([value], [at], marker, color=colour, markersize=8, clip_on=False)
        text = printed(value, first.digits)
        axes.annotate(text, (value, at), (7, -3), textcoords="offset points", fontsize=7)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    _references(axes, table, first.key)
    axes.set_xlabel(f"{first.title}: further right are better lists")
    axes.margins(x=0.12)
    for reads, colour in COLOURS.items():
        axes.plot([], [], marker=MARKERS[reads], color=colour, linestyle="none", label=f"servers read {reads}")


def _tabulate(axes: Axes, table: TradeOffs, rows: list[MethodRow]) -> None:
    """The other numbers of each method, to the right of its line."""
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "ha": "center"}
    for place, column in enumerate(table.columns[1:]):
        x = 1.17 + 0.16 * place
        title = column.title.replace(", ", ",\n")
        axes.text(x, len(rows) - 0.2, title, fontsize=6.5, color=FILE_MUTED, va="bottom", **beside)
        for at, row in enumerate(rows):
            text = table.text(row, column).replace(NOT_MEASURED, "?") or "–"
            axes.text(x, at, text, fontsize=7.5, va="center", **beside)


def _references(axes: Axes, table: TradeOffs, key: str) -> None:
    above: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    for row in table.rows:
        value = row.cells.get(key)
        if row.reference and value is not None:
            axes.axvline(value, color=FILE_MUTED, linewidth=1, linestyle=":")
            axes.annotate(row.name, (value, 1), (2, 2), fontsize=6.5, rotation=25, color=FILE_MUTED, **above)
