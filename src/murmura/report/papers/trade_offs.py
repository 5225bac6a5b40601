"""`docs/results/trade-offs.md`: federated methods side by side, with one picture, from kept results alone."""

from __future__ import annotations

from pathlib import Path

from murmura.report.page import rendered
from murmura.report.papers.trade_off_picture import trade_off_picture
from murmura.studies.trade_offs import MethodRow, TradeOffs, read_trade_offs

PAGE, PICTURE = "trade-offs.md", "trade-offs.svg"


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
