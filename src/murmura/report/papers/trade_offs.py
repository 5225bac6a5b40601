"""`docs/results/trade-offs.md`: federated methods side by side, with one picture, from kept results alone."""

from __future__ import annotations

from pathlib import Path

from murmura.report.papers.trade_off_picture import trade_off_picture
from murmura.studies.trade_offs import NAME, TradeOffColumn, TradeOffs, read_trade_offs

PAGE, PICTURE = "trade-offs.md", "trade-offs.svg"
COMMAND = "murmura reproduce trade-offs"
_HEAD = f"""# Trade-offs

Written by `{COMMAND}` from the results kept in this folder; [{NAME}]({NAME}) says where each number
comes from. What nobody has measured is "not measured"; an empty cell has no meaning for its method. Nothing is
typed by hand.

![Federated methods by the quality of their lists, coloured by what servers read of a person]({PICTURE})

**How to read it.** A federated recommender is good at some of these at the price of others.

- *Lists*: how many of ten recommended items a person took up later (P@10), or the same with the first places
  counting more (nDCG@10); where ratings are guessed, their error.
- *Items in lists*: how many different items are recommended to anybody.
- *kB up*: what one device sends in all.
- *Servers read* each update of a person, sums of many people, or sums with noise in them.
- *Leak*: how well an attacker of our own [audit](../audit.md) who sees what the servers read tells the items of
  a person from equally popular ones that she does not have. .5 is a coin, 1 is her list.
- *Traced*: how often an attacker who knows her history finds out that she was in a round, where one alarm in a
  thousand is false.
- *Liars*: into how many people's lists one lying device in a hundred brings an item that nobody wants.
- *epsilon*: a proven bound on what all sums together reveal of one person. Without noise there is none.
"""


def write_trade_offs(results: Path) -> tuple[Path, Path, list[str]]:
    """Write page and picture into the folder of kept results; also what the definition names in vain."""
    tables = read_trade_offs(results)
    page, picture = results / PAGE, results / PICTURE
    page.write_text(trade_offs_text(tables), encoding="utf-8")
    picture.write_text(trade_off_picture(tables[0]), encoding="utf-8")
    return page, picture, [problem for table in tables for problem in table.problems]


def trade_offs_text(tables: tuple[TradeOffs, ...]) -> str:
    """The page."""
    return "\n".join([_HEAD, *map(_section, tables)])


def _section(table: TradeOffs) -> str:
    head = ["method", "servers read", *map(_title, table.columns)]
    lines = [f"## {table.title}", "", *([table.about, ""] if table.about else [])]
    lines += [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for row in table.rows:
        name = f"*{row.name}*" if row.reference else row.name
        cells = [name, row.reads, *(table.text(row, column) for column in table.columns)]
        lines.append("|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|")
    return "\n".join(lines) + "\n"


def _title(column: TradeOffColumn) -> str:
    return column.title + {"more": " ↑", "less": " ↓", "": ""}[column.better]
