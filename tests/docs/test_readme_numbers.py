"""The numbers of the README are those of the saved results. It has no marks, so that its source can be read."""

import re

import pytest

from tests.docs.kept_numbers import MARK, cell_problems, numbers, sentence_problems
from tests.docs.markdown_pages import ROOT

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
BEST, EASE, KNN = "best centralised, pairs alone", "`fed-ease`", "`fed-item-knn`"
DAY = "reproductions/sums-day.csv; data=ml-1m; P@10; row="
MUSIC = "reproductions/sums-fpl.csv; data=amazon-digital-music; P@10; row="
ITALY = "reproductions/sums-fpl.csv; data=foursquare-italy; P@10; row="
YAHOO = "reproductions/sums-kgflex.csv; data=yahoo-movies; nDCG@10; row="
CELLS = {  # row, column: where each of the cell's numbers is saved
    ("ml-1m", BEST): [f"{DAY}User-kNN"],
    ("ml-1m", EASE): [
        f"{DAY}fed-ease",
        "reproductions/privacy-fpl.csv; data=ml-1m; P@10; row=fed-ease epsilon 4",
    ],
    ("ml-1m", KNN): [f"{DAY}fed-item-knn"],
    ("amazon-digital-music", BEST): [f"{MUSIC}EASE"],
    ("amazon-digital-music", EASE): [f"{MUSIC}fed-ease"],
    ("amazon-digital-music", KNN): [f"{MUSIC}fed-item-knn"],
    ("foursquare-italy", BEST): [f"{ITALY}EASE"],
    ("foursquare-italy", EASE): [f"{ITALY}fed-ease"],
    ("foursquare-italy", KNN): [f"{ITALY}fed-item-knn"],
    ("yahoo-movies", BEST): [f"{YAHOO}EASE"],
    ("yahoo-movies", EASE): [
        f"{YAHOO}fed-ease",
        "sums-noise.csv; data=yahoo-movies; nDCG@10; row=fed-ease epsilon 4",
    ],
    ("yahoo-movies", KNN): [f"{YAHOO}fed-item-knn"],
}
SENTENCES = {
    "for certain about {} of ml-1m's": "exact-sums.csv; figure=known-item; data=ml-1m; case=people; share",
    "MostPop has {} on ml-1m": "reproductions/privacy-fpl.csv; data=ml-1m; row=MostPop; P@10",
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
        assert sentence_problems(PAGE.replace(printed, printed.replace("1", "2")), words, mark) != []
        assert sentence_problems(PAGE, f"never {words}", mark) != []


def _cell(row: str, column: str) -> list[str]:
    lines = [line.split("|") for line in PAGE.splitlines() if line.startswith((f"| {row}", "| data, protocol"))]
    place = [cell.strip() for cell in lines[0]].index(column)
    return [cells[place] for cells in lines[1:]]
