"""No link within the project is dead, and no page waits for what was to be written into it."""

from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, dead_links, pages, placeholders


def of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", pages(), ids=of)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert dead_links(page) == []


@pytest.mark.parametrize("page", pages(), ids=of)
def test_no_placeholder_is_left(page: Path) -> None:
    assert placeholders(page.read_text(encoding="utf-8")) == []


def test_the_pages_are_found() -> None:
    names = {of(page) for page in pages()}
    assert {"README.md", "docs/papers/fpl.md", "docs/results/reproductions/README.md"} <= names


PAGE = """# A page
## Two words, and `code`
## Again
## Again
[a](other.md) [b](other.md#there) [c](#two-words-and-code) [d](#again-1)
[e](https://example.org/x.md) [f](folder/)
![picture](folder/a.png "title") `[code](nowhere.md)`
```
[fenced](nowhere.md)
# no heading
```
"""


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# There\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.png").touch()
    page.write_text(PAGE)
    assert dead_links(page) == []
    dead = ["gone.md", "other.md#here", "#no-heading", "#again-2", "folder/b.png"]
    page.with_name("worse.md").write_text(PAGE + "\n".join(f"[x]({link})" for link in dead))
    assert dead_links(page.with_name("worse.md")) == dead


def test_a_placeholder_is_found() -> None:
    assert placeholders("so: @BD@ and @FRESH@") == ["@BD@", "@FRESH@"]
    assert placeholders("P@10, R@10 and a@b.example; IC@10/G@10") == []
