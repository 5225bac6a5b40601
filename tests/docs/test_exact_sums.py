"""What is said of sums without noise: what is true stands on each page, what was taken back on none."""

import re
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, pages

FOUR = ("threats", "sums", "audit", "robustness")
REQUIRED = (
    "one lying device is enough to read out histories",
    "everybody can read the pair counts from the published model",
    "11.5 % of ml-1m's people to whoever knows one rare item of theirs",
    "one upload put a cold item into a third of all lists",
)
OF_README = (
    "equal to the same model from pooled data",
    "one known rare item tells something for certain about 11.5 % of ml-1m's people",
    *REQUIRED[:2],
)
WITHDRAWN = (
    r"above (it|the best centralised( method)?) (six|three|on all)",
    r"devices that lie in the counts, if they are enough",
    r"from the rarest item alone, always rightly; with the default none",
    r"above the best centralised method",
    r"better than the best centralised method",
)
ROW = re.compile(r"^\| [^|]*, `(fpl|kgflex|default)`.*$", re.MULTILINE)


def plain(text: str) -> str:
    """Words alone: no marks, no bold, one space between two words."""
    return " ".join(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).replace("**", "").split()).lower()


def lacking(text: str, required: tuple[str, ...]) -> list[str]:
    return [sentence for sentence in required if sentence.lower() not in plain(text)]


def withdrawn(text: str) -> list[str]:
    return [words for words in WITHDRAWN if re.search(words, plain(text))]


def rows_without_their_price(text: str) -> list[str]:
    """Rows of a table of results that do not say "without noise", or not what noise leaves."""
    rows = [plain(found[0]) for found in ROW.finditer(text)]
    assert rows
    return [row for row in rows if not re.search(r"without noise.*(\.\d+|refused) at epsilon \d", row)]


@pytest.mark.parametrize("page", FOUR)
def test_a_page_says_what_exact_sums_give_away(page: str) -> None:
    assert lacking((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), REQUIRED) == []


def test_the_readme_has_the_price_in_the_row_of_the_figure() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert lacking(text, OF_README) == []
    assert rows_without_their_price(text) == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_what_was_taken_back_stands_nowhere(page: Path) -> None:
    assert withdrawn(page.read_text(encoding="utf-8")) == []


def test_what_was_said_before_is_found() -> None:
    before = """On eight pairs of data and protocol they are above it six times; `fed-ease` is above the best
centralised method on all three. Devices that lie in the counts, if they are enough, do the same."""
    assert len(withdrawn(before)) == 3
    assert lacking(before, REQUIRED) == list(REQUIRED)
    assert len(rows_without_their_price("| ml-1m, `fpl` | P@10 | EASE .1337 | **.1347** |")) == 1
