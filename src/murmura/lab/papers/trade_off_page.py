"""`docs/results/trade-offs.md`: federated methods side by side, with one picture, from kept results alone."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from murmura.lab.papers.trade_offs import NOT_MEASURED, MethodRow, TradeOffs, printed, read_trade_offs
from murmura.report.drawing import FILE_MUTED, Axes, page_style, require_report
from murmura.report.page import rendered

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
