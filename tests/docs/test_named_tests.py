"""Pages that say which test or module shows something name tests and modules that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown_pages import pages

ROOT = Path(__file__).parents[2]
PLACES = (ROOT, ROOT / "src/murmura", ROOT / "web/src", ROOT / "tests/faults", ROOT / "tests/channel")
MODULE = re.compile(r"`([\w./-]+/[\w.-]+\.(?:py|ts))(?:::\w+)?`")
OF_TODAY = [page for page in pages() if page.name != "CHANGELOG.md" and "decisions" not in page.parts]
NAMED = re.compile(r"`((?:tests/)?[\w/]+\.py)::(test_\w+)`")


def named(page: str) -> list[tuple[Path, str]]:
    """The tests a page names; without a folder they are among the faults."""
    found = NAMED.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    return [(ROOT / (path if "/" in path else f"tests/faults/{path}"), name) for path, name in found]


@pytest.mark.parametrize("page", ["threats.md", "join.md", "decisions/0017-nobody-has-to-be-believed.md"])
def test_every_test_a_page_names_exists(page: str) -> None:
    tests = named(page)
    assert len(tests) > 5
    missing = [
        name
        for path, name in tests
        if not path.exists() or f"def {name}(" not in path.read_text(encoding="utf-8")
    ]
    assert missing == []


def test_every_kind_of_attack_on_trust_is_on_the_page() -> None:
    pages = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("threats.md", "join.md"))
    files = sorted(path.name for path in (ROOT / "tests" / "faults").glob("test_trust_*.py"))
    assert files
    assert [name for name in files if name not in pages] == []


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_module_a_page_names_exists(page: Path) -> None:
    named = MODULE.findall(page.read_text(encoding="utf-8"))
    assert [name for name in named if not any((place / name).exists() for place in PLACES)] == []
