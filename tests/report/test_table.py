"""One table, five faces: they say the same, and nothing in a cell acts."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.lab.papers.latex import latex, to_latex
from murmura.report.page import Section, document
from murmura.report.table import (
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    number,
    number_cell,
    text_cell,
    to_csv,
    to_json,
    to_markdown,
)

HOSTILE = "<script>alert('x')</script> & $a_b^2$ | 100% {#1} \\input{x} \"q\" *b* [c](d) ~"
TABLE = ReportTable(
    "results",
    "Results",
    (Column("model", numeric=False), Column("P@10", "precision"), Column("seeds")),
    (
        (
            text_cell("ease"),
            TableCell(0.13021, "0.1302", 0.12, 0.14, "0.1200–0.1400", "", True),
            number_cell(3),
        ),
        (
            text_cell(HOSTILE),
            TableCell(0.1, "0.1000", 0.09, 0.11, "0.0900–0.1100", "†↓"),
            number_cell(math.nan),
        ),
    ),
    ("† worse.",),
)


class Cells(HTMLParser):
    """The text of every cell, and every tag met."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
            self.inside = True
        if tag == "span" and self.inside:
            self.rows[-1][-1] += " "

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def html_rows(text: str) -> list[list[str]]:
    parser = Cells()
    parser.feed(text)
    return parser.rows


def markdown_rows(text: str) -> list[list[str]]:
    rows = []
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith(("| ---", "| :--")):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            plain = [re.sub(r"\*\*(.*)\*\*", r"\1", cell) for cell in cells]
            back = [re.sub(r"\\(.)", r"\1", cell) for cell in plain]
            rows.append([c.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for c in back])
    return rows


def shown(cell: TableCell) -> str:
    return cell.text + cell.mark + (f" {cell.interval}" if cell.interval else "")


def in_page(table: ReportTable) -> str:
    page = document("t", "", [Section("s", "S", (table,))])
    return '<div class="table"' + page.split('<div class="table"')[1].split("</section>")[0]


def test_html_markdown_and_latex_show_the_same_cells() -> None:
    expected = [["model", "P@10", "seeds"], *([shown(cell) for cell in row] for row in TABLE.rows)]
    assert html_rows(in_page(TABLE)) == expected
    assert [
        [re.sub(r"\[(.*)\]$", r"\1", c) if "." in c else c for c in row]
        for row in markdown_rows(to_markdown(TABLE))[:2]
    ] == expected[:2]
    body = to_latex(TABLE).split(r"\midrule")[1]
    assert r"ease & \textbf{0.1302} {\scriptsize [0.1200--0.1400]} & 3 \\" in body
    assert r"0.1000\textsuperscript{\dag{}$\downarrow$} {\scriptsize [0.0900--0.1100]} & -- \\" in body


def test_csv_and_json_have_the_full_numbers() -> None:
    header, first, second = csv.reader(io.StringIO(to_csv(TABLE)))
    assert header == ["model", "P@10", "P@10 low", "P@10 high", "P@10 mark", "seeds"]
    assert first == ["ease", "0.13021", "0.12", "0.14", "", "3"]
    assert second == [HOSTILE, "0.1", "0.09", "0.11", "†↓", ""]
    read = json.loads(to_json(TABLE))
    assert read["rows"][0] == {
        "model": "ease",
        "P@10": {"value": 0.13021, "low": 0.12, "high": 0.14, "best": True},
        "seeds": 3,
    }
    assert read["rows"][1]["P@10"] == {"value": 0.1, "low": 0.09, "high": 0.11, "mark": "†↓"}
    assert read["rows"][1]["model"] == HOSTILE
    assert read["rows"][1]["seeds"] is None


def test_markdown_keeps_hostile_text_as_text() -> None:
    text = to_markdown(TABLE)
    assert "<script" not in text
    assert markdown_rows(text)[2][0] == HOSTILE
    assert len({len(row) for row in markdown_rows(text)}) == 1


def test_latex_has_no_live_command_from_a_label() -> None:
    escaped = latex(HOSTILE)
    assert r"\input" not in escaped
    assert r"\textbackslash{}input\{x\}" in escaped
    assert r"\$a\_b\textasciicircum{}2\$ \textbar{} 100\% \{\#1\}" in escaped
    assert not re.search(r"(?<!\\)[%#&_]", escaped)


@given(st.text(max_size=40))
def test_a_label_never_opens_a_tag_and_comes_back_whole(label: str) -> None:
    cell = text_cell(label)
    table = ReportTable("t", "t", (Column("model", numeric=False),), ((cell,),))
    parser = Cells()
    parser.feed(in_page(table))
    assert set(parser.tags) <= {"div", "table", "caption", "span", "a", "thead", "tbody", "tr", "th"}
    assert parser.rows[1] == [cell.text]
    assert list(csv.reader(io.StringIO(to_csv(table)))) in ([["model"], [cell.text]], [["model"], []])
    assert json.loads(to_json(table))["rows"] == [{"model": cell.text}]


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([0.1261, 0.02], 4),
        ([0.0123], 5),
        ([0.00469], 6),
        ([2586.3], 0),
        ([12.34], 2),
        ([1.0], 3),
        ([], 0),
        ([math.nan], 0),
    ],
)
def test_decimals(values: list[float], decimals: int) -> None:
    assert decimals_for(values) == decimals


def test_numbers() -> None:
    assert number(1234567.0, 0) == "1,234,567"
    assert number(-0.0123, 4) == "−0.0123"
    assert number(-0.00001, 3) == "0.000"
    assert number_cell(None).text == number_cell(math.inf).text == "–"
