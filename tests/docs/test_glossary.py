"""One name, one thing: public classes have no namesakes, and the glossary speaks of what exists."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def public_classes() -> Counter[str]:
    found: Counter[str] = Counter()
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name] += 1
    return found


def aliases() -> set[str]:
    """Types that are no classes: `Name = Literal[...]` at the top of a module."""
    tops = [ast.parse(path.read_text(encoding="utf-8")).body for path in sorted((ROOT / "src").rglob("*.py"))]
    assigned = [node for body in tops for node in body if isinstance(node, ast.Assign)]
    return {name.id for node in assigned for name in node.targets if isinstance(name, ast.Name)}


def glossary() -> list[str]:
    """The first cell of every row, without the headings."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    return [cell for cell in cells if cell not in ("word", "---")]


def test_no_two_public_classes_have_one_name() -> None:
    assert [name for name, times in public_classes().items() if times > 1] == []


def test_every_type_of_the_glossary_exists() -> None:
    known = {*public_classes(), *aliases()}
    named = [name for cell in glossary() for name in re.findall(r"`([A-Z]\w+)`", cell)]
    assert len(named) > 20
    assert [name for name in named if name not in known] == []


def test_the_glossary_has_each_word_once() -> None:
    words = Counter(cell.strip("`").lower() for cell in glossary())
    assert [word for word, times in words.items() if times > 1] == []
