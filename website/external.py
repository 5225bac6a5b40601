"""What the pages of a built site would fetch from other hosts; links that a reader follows are no such thing.

Run: python -m website.external build/site
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

_ELSEWHERE = re.compile(r"(https?:)?//", re.IGNORECASE)
_CSS = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)
_SCRIPT = re.compile(r"(?:import|from)\s*\(?\s*['\"]((?:https?:)?//[^'\"]+)", re.IGNORECASE)
_LOOKED_INTO = {"style": _CSS, "script": _SCRIPT}
_REFERS = {"link", "image", "use"}  # tags whose reference is fetched
_NAMED = {"canonical", "next", "prev"}  # relations that fetch nothing


class Fetched(HTMLParser):
    """Collects what a page fetches by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the sources of a tag."""
        self._inside = tag
        given = {name: value or "" for name, value in attrs}
        sources = [given.get(name, "") for name in ("src", "srcset", "poster", "data")]
        if tag in _REFERS and given.get("rel") not in _NAMED:
            sources += [given.get("href", ""), given.get("xlink:href", "")]
        self.found += [one for one in sources if _ELSEWHERE.match(one)]
        self.found += _CSS.findall(given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        """Leave the tag."""
        self._inside = ""

    def handle_data(self, data: str) -> None:
        """Look into styles and scripts."""
        if self._inside in _LOOKED_INTO:
            self.found += _LOOKED_INTO[self._inside].findall(data)


def fetched(path: Path) -> list[str]:
    """What a page or a style sheet fetches from other hosts."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return _CSS.findall(text)
    page = Fetched()
    page.feed(text)
    return page.found


def main(site: Path) -> None:
    """Say what is fetched from elsewhere, if anything is, and fail."""
    paths = [path for path in sorted(site.rglob("*")) if path.suffix in (".html", ".css", ".svg")]
    found = [f"{path.relative_to(site)}: {url}" for path in paths for url in fetched(path)]
    if found or not paths:
        raise SystemExit(
            "pages must fetch nothing from other hosts:\n" + "\n".join(found or ["no page was found"])
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
