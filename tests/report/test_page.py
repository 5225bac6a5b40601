"""The page as a browser and a reader meet it."""

from __future__ import annotations

import csv
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from murmura.core.errors import MissingExtraError, RunError
from murmura.report import build
from murmura.report.sections.metrics import EDGES, bin_shares
from tests.report.folders import Made, drawn, federation, write_comparison
from tests.report.test_table import html_rows, markdown_rows

HOSTILE = "<img src=x onerror=alert(1)> $x^2$ 'q\" &amp; \\end{table}"
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Checks nesting while it reads; keeps ids, references, tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for key, value in attrs:
            self.attributes.add(key)
            if key == "id":
                self.ids.append(value or "")
            if key in {"href", "src", "xlink:href"}:
                self.references.append(value or "")
            self.references += re.findall(r"url\(([^)]*)\)", value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"style", "script"}:
            self.text += data


def read_page(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    assert page.open == []
    return page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return federation(tmp_path_factory.mktemp("report") / "c")


def test_one_page_that_needs_nothing_else(folder: Path) -> None:
    path = build(folder)
    text = path.read_text(encoding="utf-8")
    page = read_page(path)
    assert path == folder / "report.html"
    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in text
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed"}
    assert len(page.ids) == len(set(page.ids))
    for reference in page.references:
        assert reference.startswith("data:") or reference[1:] in page.ids, reference
    assert len(text) < 1_000_000
    for word in (
        "Results",
        "Plots",
        "What left the devices",
        "Training",
        "Data",
        "Configuration",
        "Environment",
    ):
        assert f">{word}</h2>" in text
    assert {"metrics-1", "coverage", "people", "bytes", "costs", "disclosed", "loss"} <= set(page.ids)
    assert text.count("<svg ") == text.count('role="img"') == text.count("<desc ") == 7
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_the_same_folder_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    first = build(folder, tmp_path / "one" / "report.html")
    second = build(folder, tmp_path / "two" / "report.html")
    assert first.read_bytes() == second.read_bytes()
    names = sorted(path.name for path in (tmp_path / "one" / "report-tables").iterdir())
    for name in names:
        one, two = ((tmp_path / place / "report-tables" / name).read_bytes() for place in ("one", "two"))
        assert one == two
    assert {"results.csv", "results.md", "results.tex", "results.json", "tests.tex", "seeds.csv"} <= set(names)


def test_the_page_and_the_files_say_the_same(folder: Path, tmp_path: Path) -> None:
    page = build(folder, tmp_path / "p.html")
    tables = tmp_path / "p-tables"
    text = page.read_text(encoding="utf-8")
    for path in sorted(tables.glob("*.json")):
        name, read = path.stem, json.loads(path.read_text())
        part = text.split(f'id="table-{name}"')[1].split("</table>")[0]
        html = html_rows(part)
        markdown = markdown_rows((tables / f"{name}.md").read_text())
        bare = [[re.sub(r"\s*\[(.*)\]$", r" \1", cell) for cell in row] for row in markdown]
        assert bare == html, name
        with (tables / f"{name}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(read["rows"]) == len(html) - 1
        for line, row in zip(rows, read["rows"]):
            for column in read["columns"]:
                cell = row[column] if isinstance(row[column], dict) else {"value": row[column]}
                assert line[column] == ("" if cell["value"] is None else str(cell["value"]))
                assert line.get(f"{column} low", "") == str(cell.get("low", ""))
                assert line.get(f"{column} mark", "") == cell.get("mark", "")
        latex = (tables / f"{name}.tex").read_text()
        assert latex.count(r" \\") == len(html), name
        assert latex.isascii(), "pdflatex sets it without further packages"


def test_labels_are_text_everywhere(tmp_path: Path) -> None:
    models = [Made(HOSTILE, [drawn(1, 0.2)], settings={"l2": HOSTILE}), Made("日本語 модель", [drawn(2, 0.1)])]
    path = build(write_comparison(tmp_path / "c", models))
    page = read_page(path)
    assert not page.tags & {"img", "script"}
    assert not {key for key in page.attributes if key.startswith("on")}
    assert page.text.count("<img src=x onerror=alert(1)>") > 3
    assert "日本語 модель" in page.text
    assert r"\end{table} " not in (path.parent / "report-tables" / "results.tex").read_text()
    assert "$x^2$" in re.sub(r"<svg.*?</desc>", "", path.read_text(), flags=re.DOTALL), "no formula in a plot"


def test_what_is_unfinished_is_said(tmp_path: Path) -> None:
    models = [
        Made("a", [drawn(1, 0.2)]),
        Made("b", [drawn(2, 0.1)], losses=[3.0, 2.0], status="failed", error="no memory"),
        Made("c", []),
    ]
    path = write_comparison(tmp_path / "c", models, status="running")
    text = read_page(build(path)).text
    assert "1 of 3 models finished." in text
    assert "no memory" in text
    assert "not started" in text
    assert (path / "report-tables" / "unfinished.csv").is_file()
    rest = [Made("b", [drawn(2, 0.1)]), Made("c", [drawn(3, 0.1)])]
    write_comparison(tmp_path / "other", [models[0], *rest])
    for name in ("b-seed0", "c-seed0"):
        (path / name).mkdir(exist_ok=True)
        for file in (tmp_path / "other" / name).iterdir():
            (path / name / file.name).write_bytes(file.read_bytes())
    assert "models finished" not in read_page(build(path)).text
    assert not (path / "report-tables" / "unfinished.csv").exists(), "a table that has gone is taken away"


def test_nothing_finished_is_still_a_page(tmp_path: Path) -> None:
    path = write_comparison(tmp_path / "c", [Made("a", []), Made("b", [])], status="running")
    text = read_page(build(path)).text
    assert "0 of 2 models finished." in text
    assert "How to reproduce" in text


def test_odd_values_do_not_break_the_page(tmp_path: Path) -> None:
    nothing, alone = np.full(3, np.nan), np.array([0.5])
    models = [
        Made("nan", [nothing]),
        Made("zero", [np.zeros(3)]),
        Made("one user", [alone]),
        Made("x" * 200, [alone]),
    ]
    text = read_page(build(write_comparison(tmp_path / "c", models))).text
    assert "x" * 200 in text


def test_a_single_model_is_neither_bold_nor_marked(tmp_path: Path) -> None:
    path = build(write_comparison(tmp_path / "c", [Made("a", [drawn(1, 0.2)])]))
    assert "<strong>" not in path.read_text()
    assert "a has a P@10 (precision) of" in read_page(path).text


def test_what_is_no_run_folder_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="must be a run folder"):
        build(tmp_path)
    with pytest.raises(RunError, match="must be a run folder"):
        build(tmp_path / "absent", tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"murmura\[report\]"):
        build(folder)


def test_shares_of_users() -> None:
    values = np.array([0, 0, 0.1, 0.1 + 1e-16, 0.15, 0.2, 0.3, 0.4, 0.5, np.nan])
    assert bin_shares(values, EDGES) == pytest.approx([2 / 9, 2 / 9, 2 / 9, 2 / 9, 1 / 9])
