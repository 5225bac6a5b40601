"""Sections say when they apply; names of strangers stay text; names of points never lie on each other."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from murmura.report import build
from murmura.report.build import every_section
from murmura.report.drawing import NAMED, canvas, note
from murmura.report.page import GLOSSARY_FILE, Compared, Section, document, terms_of, words
from murmura.report.sections import traffic
from murmura.report.table import Column, ReportTable, plain_table, text_cell
from murmura.studies.compare.folder import read_runs
from tests.report.folders import Made, drawn, federation, write_comparison

SCRIPT = "<script>alert(1)</script>"


def names(path: Path) -> set[str]:
    found = every_section(Compared(read_runs(path)))
    return {section.name for section in found if section is not None}


def test_a_section_is_there_only_where_it_applies(tmp_path: Path) -> None:
    always = {"results", "data", "configuration", "environment", "reproduce"}
    plain = write_comparison(tmp_path / "plain", [Made("a", [drawn(1, 0.2)]), Made("b", [drawn(2, 0.1)])])
    assert names(plain) == {*always, "plots", "tests"}  # no bytes, no losses, no sweep, no audit
    assert names(federation(tmp_path / "federation")) == {*always, "plots", "tests", "cost", "training"}
    nothing = write_comparison(tmp_path / "nothing", [Made("a", [])], status="running")
    assert names(nothing) == always


def test_a_section_without_anything_to_show_does_not_exist() -> None:
    assert Section.of("a", "A") is None
    assert Section.of("a", "A", None, None) is None
    assert Section.of("a", "A", lead=("said",)) == Section("a", "A", lead=("said",))


def test_a_script_in_a_label_a_setting_or_an_error_stays_text(tmp_path: Path) -> None:
    models = [
        Made(SCRIPT, [drawn(1, 0.2)], settings={SCRIPT: SCRIPT}, cost={"disclosed": 1.0}, losses=[2.0, 1.0]),
        Made("b", [drawn(2, 0.1)], status="failed", error=SCRIPT),
    ]
    text = build(write_comparison(tmp_path / "c", models)).read_text(encoding="utf-8")
    assert "<script" not in text
    assert text.count("&lt;script&gt;") > 5


def test_every_part_of_a_section_is_escaped() -> None:
    table = ReportTable(SCRIPT, SCRIPT, (Column(SCRIPT, SCRIPT),), ((text_cell(SCRIPT),),), (SCRIPT,))
    section = Section(SCRIPT, SCRIPT, (table,), (SCRIPT,), SCRIPT, (SCRIPT,), SCRIPT)
    assert "<script" not in document(SCRIPT, SCRIPT, [section])


def test_the_ledger_of_many_models_has_a_row_for_each(tmp_path: Path) -> None:
    def folder(count: int) -> ReportTable:
        made = [Made(f"m{n}", [drawn(n, 0.1)], ledger={"rows_up": n, "visits": 7}) for n in range(count)]
        found = traffic.ledger_table(read_runs(write_comparison(tmp_path / str(count), made)))
        assert found is not None
        return found

    few, many = folder(2), folder(6)
    assert [column.title for column in few.columns] == ["what left the devices", "m0", "m1"]
    assert [column.title for column in many.columns] == ["model", "rows_up", "visits"]
    assert [[cell.value for cell in row] for row in many.rows][5] == ["m5", 5, 7]


@pytest.mark.parametrize("count", [3, 12, 40])
def test_names_of_points_never_lie_on_each_other(count: int) -> None:
    with canvas("crowd", 3.0) as made:
        for n in range(count):  # close together, some on one spot
            made.axes.plot([n % 5], [n // 5 % 3], "o")
            note(made.axes, n % 5, n // 5 % 3, f"model number {n}")
    texts = [text for text in made.axes.texts if text.get_gid() == NAMED]
    boxes = [text.get_window_extent() for text in texts]
    assert len(texts) >= min(count, 3)
    for one, other in combinations(boxes, 2):
        assert not (one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1)


def test_words_are_explained_where_they_occur(tmp_path: Path) -> None:
    assert list(terms_of(["model", "P@10", "IC@10", "pi"])) == ["IC@k", "pi"]
    assert terms_of(["R@10", "opinion"]) == {}
    page = build(federation(tmp_path / "c")).read_text(encoding="utf-8")
    explained = set(re.findall(r"<dt>([^<]*)</dt>", page))
    assert {"IC@k", "disclosed"} <= explained
    assert "protect" not in str(words(GLOSSARY_FILE))  # pi limits what is contributed, and nothing else is said


def test_a_heading_stands_over_numbers_or_over_text() -> None:
    table = plain_table("t", "T", ["a", "b", "c"], [("x", 1, (0.25, 2)), ("y", None, None)])
    assert [column.numeric for column in table.columns] == [False, True, True]
    assert [[cell.text for cell in row] for row in table.rows] == [["x", "1", "0.25"], ["y", "–", "–"]]
