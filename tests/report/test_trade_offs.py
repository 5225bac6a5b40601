"""The page of trade-offs is what the kept results say, and says so where they say nothing."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from murmura.core.errors import DataError, SettingError
from murmura.lab.papers.trade_offs import (
    NAME,
    PAGE,
    PICTURE,
    printed,
    published_number,
    read_trade_offs,
    trade_offs_text,
    write_trade_offs,
)
from tests.cli.processes import murmura

RESULTS = Path(__file__).parents[2] / "docs" / "results"
DEFINITION = """
columns:
  p10: {title: "lists, P@10", digits: 3, better: more}
  up: {title: kB up, digits: 0, better: less}
  leak: {title: "leak, pm-AUC", digits: 2}
tables:
- title: Made up
  about: Two methods.
  shows: [p10, up, leak]
  rows:
    popular: {reference: true, reads: all data, p10: .1, up: "-", leak: "-"}
    summed:
      {reads: sums without noise, p10: a.csv; row=x; P@10, up: a.csv; row=x; kB, leak: later.csv; row=x; leak}
    worst: {reads: each update, p10: a.csv; row=y; P@10, leak: a.csv; row=y; kB; max}
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    (tmp_path / NAME).write_text(DEFINITION, encoding="utf-8")
    lines = ["row,seed,P@10,kB", "x,0,0.2,1200", "x,1,0.3,1300", "y,0,0.25,7", "y,1,,9"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_numbers_are_means_of_lines_and_what_is_missing_is_said(results: Path) -> None:
    (table,) = read_trade_offs(results)
    text = trade_offs_text((table,))
    assert "| method | servers read | lists, P@10 ↑ | kB up ↓ | leak, pm-AUC |" in text
    assert "| *popular* | all data | .100 | | |" in text
    assert "| summed | sums without noise | .250 | 1,250 | not measured |" in text
    assert "| worst | each update | .250 | not measured | 9.00 |" in text


def test_page_and_picture_are_the_same_when_written_again(results: Path) -> None:
    page, picture, problems = write_trade_offs(results)
    first = [path.read_text(encoding="utf-8") for path in (page, picture)]
    assert (page.name, picture.name, problems) == (PAGE, PICTURE, [])
    write_trade_offs(results)
    assert first == [(results / name).read_text(encoding="utf-8") for name in (PAGE, PICTURE)]
    words = "".join(ET.fromstring(first[1]).itertext())
    for shown in (
        "summed",
        "worst",
        ".250",
        "popular",
        "1,250",
        "? not measured",
        "servers read sums without noise",
    ):
        assert shown in words


def test_a_result_that_comes_later_is_on_the_next_page(results: Path) -> None:
    (results / "later.csv").write_text("row,leak\nx,0.53\n", encoding="utf-8")
    assert "| summed | sums without noise | .250 | 1,250 | .53 |" in write_trade_offs(results)[0].read_text(
        "utf-8"
    )


def test_a_cell_that_names_no_column_is_not_measured_and_told_of(results: Path) -> None:
    (results / "later.csv").write_text("row,leaks\nx,0.53\n", encoding="utf-8")
    page, _, problems = write_trade_offs(results)
    assert "| summed | sums without noise | .250 | 1,250 | not measured |" in page.read_text("utf-8")
    assert problems == ["the columns of later.csv are row, leaks, but 'later.csv; row=x; leak' names 'leak'."]


def test_what_cannot_be_meant_is_refused(results: Path) -> None:
    with pytest.raises(
        SettingError, match=r"the columns of a\.csv are row, seed, P@10, kB, but .* names 'nDCG'"
    ):
        published_number(results, "a.csv; row=x; nDCG")
    with pytest.raises(SettingError, match=r"like key=value, but .* has 'x'"):
        published_number(results, "a.csv; x; P@10")
    assert published_number(results, "a.csv; row=z; P@10") is None
    assert published_number(results, "a.csv; row=x; seed=1.0; P@10") == 0.3
    (results / NAME).write_text(DEFINITION.replace("up: a.csv", "upp: a.csv"), encoding="utf-8")
    with pytest.raises(SettingError, match="'summed' has 'upp'"):
        read_trade_offs(results)
    with pytest.raises(DataError, match="cannot be read"):
        read_trade_offs(results / "nowhere")


def test_numbers_as_people_read_them() -> None:
    assert [printed(0.1234, 2), printed(-0.5, 1), printed(1234.5, 0), printed(0.0, 3), printed(8, 0)] == [
        ".12",
        "-.5",
        "1,234",
        ".000",
        "8",
    ]


def test_the_kept_page_is_what_the_saved_results_say_now() -> None:
    """After a change of a result: `murmura reproduce trade-offs`."""
    assert (RESULTS / PAGE).read_text(encoding="utf-8") == trade_offs_text(read_trade_offs(RESULTS))
    assert "sums without noise" in (RESULTS / PICTURE).read_text(encoding="utf-8")


def test_the_command(results: Path, tmp_path: Path) -> None:
    done = murmura("reproduce", "trade-offs", "--results", str(results), cwd=tmp_path)
    assert done.returncode == 0
    assert (results / PAGE).exists()
