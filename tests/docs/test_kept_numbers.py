"""Numbers that are marked as kept are those of their CSV; a changed digit is found."""

import re
from pathlib import Path

import pytest

from tests.docs import kept_numbers
from tests.docs.kept_numbers import MARK, agrees, problems
from tests.docs.markdown_pages import ROOT, pages

MARKED = [page for page in pages() if MARK.search(page.read_text(encoding="utf-8"))]
CSV = """data,row,metric,printed,ours,low,high
a,sFPL,P@10,0.0061,0.00904,0.0085,0.0095
a,sFPL+,P@10,,0.0128,0.0105,0.0151
a,sFPL+ pi=1,P@10,,0.0130,,
a,MostPop,IC@10,1018,1018.4,,
b,MostPop,BD,-0.5,-0.25,,
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    monkeypatch.setattr(kept_numbers, "RESULTS", tmp_path)
    kept_numbers.lines_of.cache_clear()


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.stem)
def test_what_is_marked_as_kept_is_kept(page: Path) -> None:
    kept_numbers.lines_of.cache_clear()
    assert problems(page.read_text(encoding="utf-8")) == []


def test_the_papers_pages_are_marked() -> None:
    papers = ("client-aware", "federank", "fedsplit", "fpl", "kgflex", "thesis")
    assert {ROOT / "docs" / "papers" / f"{name}.md" for name in papers} <= set(MARKED)
    assert ROOT / "docs" / "analyses.md" in MARKED


INLINE = """sFPL has .0090<!-- kept: t.csv; row=sFPL; P@10 --> and
the print .0061<!-- kept: t.csv; row=sFPL; P@10; printed -->, and all rows together
.0116<!-- kept: t.csv; data=a; P@10; mean -->."""
TABLE = r"""<!-- kept: t.csv; row={1}; P@10 | | printed | ours, ± | row={4} pi=1 -->

| row | printed | ours | pi 1 of |
| --- | --- | --- | --- |
| sFPL, T = 1 | .0061 | **.0090** ± .0005 | |
| `sFPL+`, T = X⁺/\|U\| | – | .0128 ± .002 | |
"""


@pytest.mark.usefixtures("results")
def test_a_changed_number_is_found() -> None:
    assert problems(INLINE) == problems(TABLE) == []
    for good in (INLINE, TABLE):
        body = MARK.sub(lambda found: "#" * len(found[0]), good)
        for number in re.finditer(r"\.\d+", body):
            last = number.end() - 1
            worse = good[:last] + str((int(good[last]) + 5) % 10) + good[last + 1 :]
            assert len(problems(worse)) == 1, worse


@pytest.mark.usefixtures("results")
def test_of_numbers_by_seed_the_mean_is_kept() -> None:
    rounds = "<!-- kept: t.csv; row=MostPop; data=a | IC@10; seeds -->\n\n| seeds |\n| - |\n"
    assert problems(f"{rounds}| 1,018, 1,018, 1,018, 1,018, 1,020 |\n") == []
    assert len(problems(f"{rounds}| 1,018, 1,018, 1,018, 1,018, 1,019 |\n")) == 1
    head = "<!-- kept: t.csv; row={1} | | P@10; seeds -->\n\n| row | seeds |\n| - | - |\n"
    assert problems(f"{head}| sFPL | .0085, .0091, .0095 |\n") == []
    assert problems(f"{head}| sFPL | .0085, .0091, .0096 |\n| sFPL+ | .0105, .0151 |\n") == []
    assert len(problems(f"{head}| sFPL | .0085, .0091, .0099 |\n| sFPL+ | |\n")) == 2


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (".1<!-- kept: gone.csv; row=sFPL -->", "a file below docs/results"),
        (".1<!-- kept: t.csv; row=sFPL++; P@10 -->", "is None"),
        (".1<!-- kept: t.csv; data=a -->", "has 4"),
        ("no number<!-- kept: t.csv; row=sFPL -->", "'' is printed"),
        ("<!-- kept: t.csv | P@10 -->\n\nno table", "above a table"),
        ("<!-- kept: t.csv | P@10 -->\n\n| a | b |\n| - | - |\n| 1 | 2 |\n", "1 for 2"),
        (TABLE.replace("– |", ".0142 |"), "is None"),
        (TABLE.replace(".0061 |", "– |"), "is 0.0061"),
        (TABLE.replace("sFPL, T", "FCF, T"), "is None"),
    ],
)
def test_a_mark_that_cannot_be_followed_is_found(text: str, says: str) -> None:
    assert any(says in one for one in problems(text)), problems(text)


@pytest.mark.usefixtures("results")
def test_thousands_signs_and_percents_are_read() -> None:
    assert problems("1,018<!-- kept: t.csv; row=MostPop; IC@10 -->") == []
    assert problems("−25 %<!-- kept: t.csv; data=b; row=MostPop; BD -->") == []
    assert problems("25 %<!-- kept: t.csv; data=b; row=MostPop; BD -->") != []
    assert problems("1,018 and −.25<!-- kept: t.csv; row=MostPop; IC@10, BD -->") == []
    assert problems("1,018 and −.26<!-- kept: t.csv; row=MostPop; IC@10, BD -->") != []


def test_a_number_is_rounded_to_its_digits() -> None:
    assert agrees(".0271", 0.027051)
    assert agrees("10,505", 10504.7)
    assert agrees("0.10", 0.1049)
    assert not agrees("0.10", 0.1051)
    assert agrees("2.8e10", 2.836e10)
    assert not agrees("2.9e10", 2.836e10)
    assert agrees("30.3 %", 0.30299)
