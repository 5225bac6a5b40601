"""The numbers of the README are those of the saved results. It has no marks, so that its source can be read."""

import re

import pytest

from tests.docs.kept_numbers import MARK, cell_problems, numbers, sentence_problems
from tests.docs.markdown_pages import ROOT

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
BEST, MORE = "best centralised, pairs alone", "best centralised, with more"
EASE, KNN = "`fed-ease`", "`fed-item-knn`"
FILE = "readme.csv; value"
CELLS = {  # row, column: where each of the cell's numbers is saved
    ("facebook-books", BEST): [f"{FILE}; data=facebook-books; method=item-knn informed"],
    ("facebook-books", MORE): [f"{FILE}; data=facebook-books; method=ease informed"],
    ("facebook-books", EASE): [
        f"{FILE}; data=facebook-books; method=fed-ease",
        f"{FILE}; data=facebook-books; method=fed-ease epsilon 4",
    ],
    ("facebook-books", KNN): [f"{FILE}; data=facebook-books; method=fed-item-knn"],
    ("yahoo-movies", BEST): [f"{FILE}; data=yahoo-movies; method=ease"],
    ("yahoo-movies", MORE): [f"{FILE}; data=yahoo-movies; method=ease informed"],
    ("yahoo-movies", EASE): [
        f"{FILE}; data=yahoo-movies; method=fed-ease",
        f"{FILE}; data=yahoo-movies; method=fed-ease epsilon 4",
    ],
    ("yahoo-movies", KNN): [f"{FILE}; data=yahoo-movies; method=fed-item-knn"],
    ("ml-100k", BEST): [f"{FILE}; data=ml-100k; method=ease"],
    ("ml-100k", MORE): [f"{FILE}; data=ml-100k; method=ease informed"],
    ("ml-100k", EASE): [
        f"{FILE}; data=ml-100k; method=fed-ease",
        f"{FILE}; data=ml-100k; method=fed-ease epsilon 4",
    ],
    ("ml-100k", KNN): [f"{FILE}; data=ml-100k; method=fed-item-knn"],
}
SENTENCES = {
    "for certain about {} of ml-1m's": "exact-sums.csv; figure=known-item; data=ml-1m; case=people; share",
    "facebook-books MostPop has {}": f"{FILE}; data=facebook-books; method=mostpop",
}


@pytest.mark.parametrize(("row", "column"), CELLS)
def test_a_cell_of_the_readme_has_the_saved_numbers(row: str, column: str) -> None:
    assert cell_problems(PAGE, row, column, CELLS[row, column]) == []


@pytest.mark.parametrize("words", SENTENCES)
def test_a_sentence_of_the_readme_has_the_saved_number(words: str) -> None:
    assert sentence_problems(PAGE, words, SENTENCES[words]) == []


def test_no_number_of_the_table_of_results_is_left_out() -> None:
    table = next(part for part in PAGE.split("\n\n") if part.startswith("| data, protocol"))
    decimals = re.findall(r"(?<![\d.])\.\d+", table)
    assert len(decimals) == sum(map(len, CELLS.values()))


def test_the_readme_has_no_marks_and_no_wide_lines() -> None:
    assert not MARK.search(PAGE)
    wide = [line for line in PAGE.splitlines() if len(line) > 120 and not line.startswith(("![", "|"))]
    assert wide == []


def test_a_changed_number_of_the_readme_is_found() -> None:
    for (row, column), marks in CELLS.items():
        for number in re.findall(r"(?<![\d.])\.\d+", " ".join(_cell(row, column))):
            worse = PAGE.replace(number, f"{number[:-1]}{(int(number[-1]) + 5) % 10}")
            assert cell_problems(worse, row, column, marks) != []
    for words, mark in SENTENCES.items():
        printed = numbers(re.search(words.replace("{}", r"(\S+(?: %)?)"), " ".join(PAGE.split()))[1])[0]  # type: ignore[index]
        other = re.sub(r"[1-9]", lambda found: str(int(found[0]) % 9 + 1), printed, count=1)
        assert sentence_problems(PAGE.replace(printed, other), words, mark) != []
        assert sentence_problems(PAGE, f"never {words}", mark) != []


def _cell(row: str, column: str) -> list[str]:
    lines = [line.split("|") for line in PAGE.splitlines() if line.startswith((f"| {row}", "| data, protocol"))]
    place = [cell.strip() for cell in lines[0]].index(column)
    return [cells[place] for cells in lines[1:]]
