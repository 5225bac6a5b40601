"""The pages that people write can be read: not too many words, no line that is wider than a screen."""

from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, pages

MOST_WORDS, WIDEST = 100_000, 160
WRITTEN = [page for page in pages() if page.parent == ROOT / "docs" or page == ROOT / "README.md"]
WRITTEN += [page for page in pages() if page.parent.parent == ROOT / "docs"]


def test_the_pages_have_at_most_a_hundred_thousand_words() -> None:
    counts = {
        page.relative_to(ROOT).as_posix(): len(page.read_text(encoding="utf-8").split()) for page in WRITTEN
    }
    assert sum(counts.values()) <= MOST_WORDS, sorted(counts.items(), key=lambda one: -one[1])[:10]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_line_is_wider_than_a_screen(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > WIDEST] == []
