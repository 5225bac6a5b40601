"""Every Markdown page of the project: its headings as anchors, its links, its text without code."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def pages() -> list[Path]:
    """The tracked pages, and those about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for path in map(ROOT.joinpath, sorted(set(told.splitlines()))) if path.exists()]


def without_blocks(text: str) -> str:
    """The text without its fenced blocks of code."""
    return _FENCE.sub("", text)


def without_code(text: str) -> str:
    """The text without blocks and spans of code."""
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", without_blocks(text))


@cache
def anchors(path: Path) -> frozenset[str]:
    """What `page.md#…` can point at, spelt as GitHub spells it."""
    text = without_blocks(path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#{1,6}\s+(.+?)\s*#*$", text, re.MULTILINE)
    seen: Counter[str] = Counter()
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for title in titles:
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return frozenset(found)


def dead_links(path: Path) -> list[str]:
    """The relative links of a page that lead nowhere: to no file, or to no heading of one."""
    links = _LINK.findall(without_code(path.read_text(encoding="utf-8")))
    return [link for link in links if not _ELSEWHERE.match(link) and not _leads(path, link)]


def _leads(path: Path, link: str) -> bool:
    place, _, anchor = link.partition("#")
    target = path.parent / place if place else path
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors(target)


def placeholders(text: str) -> list[str]:
    """Words between two @, which stand for what was to be written there."""
    return re.findall(r"(?<!\w)@\w[\w-]*@", text)
