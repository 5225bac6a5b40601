"""A small table that a notebook shows as HTML and a terminal as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class PlainTable:
    """Columns and rows of text; the first column is of names, the others of numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    def __str__(self) -> str:
        lines = [self.columns, *self.rows]
        width = [max(len(line[place]) for line in lines) for place in range(len(self.columns))]
        drawn = ["  ".join([line[0].ljust(width[0]), *map(str.rjust, line[1:], width[1:])]) for line in lines]
        return "\n".join([*([self.caption] if self.caption else []), *(line.rstrip() for line in drawn)])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{_cells(row)}</tr>" for row in self.rows)
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: Sequence[str]) -> str:
    numbers = "".join(f'<td style="text-align:right">{escape(cell)}</td>' for cell in row[1:])
    return f'<th style="text-align:left">{escape(row[0])}</th>{numbers}'


def number(value: float | None) -> str:
    """A metric in a table: whole numbers whole, the others with five digits; nothing of nothing."""
    if value is None or value != value:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.5f}"
