"""Hooks of mkdocs: pages that are built, folders in the navigation, links and lists as code hosts read them.

Built are the pages of notebooks, of reproductions (from their kept tables) and of the commands' help.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # mkdocs runs this file by its path

from murmura.lab.papers.experiments import experiment
from murmura.lab.papers.published_results import TABLES, published_page
from website.help_pages import help_pages
from website.notebook import as_markdown

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

REPRODUCTIONS = "results/reproductions"  # below docs/
_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"([-*+]|1\.) ")
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of a folder where the navigation names the folder, and pages where it names notebooks."""
    config.nav = spelt_out(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace each notebook by the page it becomes; add the pages of reproductions."""
    from mkdocs.structure.files import File

    for file in [one for one in files if one.src_uri.endswith(".ipynb")]:
        files.remove(file)
        files.append(File.generated(config, page_of(file.src_uri), content=as_markdown(file.content_string)))
    kept = Path(config.docs_dir) / REPRODUCTIONS
    for name in reproductions(kept):
        text = published_page(experiment(name), kept)
        files.append(File.generated(config, f"{REPRODUCTIONS}/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to notebooks to their pages, and links that leave docs/ to the code host; set lists apart."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]  # it names every page itself
    if page.file.src_uri == "command-line.md":
        markdown = f"{markdown}\n{help_pages()}\n"
    return lists_apart(relinked(markdown, page.file.src_uri, config.extra["repository"]))


def page_of(uri: str) -> str:
    """The page that a notebook or the numbers of a reproduction become; any other file is itself."""
    return re.sub(r"\.ipynb$|(?<!-trials)(?<!-shares)(?<!-tables)\.csv$", ".md", uri)


def reproductions(folder: Path) -> list[str]:
    """The experiments whose tables are kept."""
    return sorted(path.name.removesuffix(TABLES) for path in folder.glob(f"*{TABLES}"))


def spelt_out(nav: Any, docs: Path) -> Any:
    """The navigation with a list of pages in place of each folder."""
    if isinstance(nav, dict):
        return {title: spelt_out(inner, docs) for title, inner in nav.items()}
    if isinstance(nav, str):
        return page_of(nav)
    found: list[Any] = []
    for entry in nav:
        folder = isinstance(entry, str) and entry.endswith("/")
        pages = sorted(path.name for path in (docs / entry).glob("*.md")) if folder else []
        found += [f"{entry}{name}" for name in pages] if folder else [spelt_out(entry, docs)]
    return found


def relinked(markdown: str, uri: str, repository: str) -> str:
    """The text of the page at `uri` with its links as the site needs them."""

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(uri), found[1]))
        if not target.startswith("docs/"):
            return f"]({repository}{target}{found[2] or ''}"
        built = target.startswith(f"docs/{REPRODUCTIONS}/") or found[1].endswith(".ipynb")
        return f"]({page_of(found[1]) if built else found[1]}{found[2] or ''}"

    return _LINK.sub(link, markdown)


def lists_apart(markdown: str) -> str:
    """The text with an empty line before each list below a paragraph: mkdocs needs it, code hosts do not."""
    lines: list[str] = []
    fenced = listed = False
    for line in markdown.splitlines():
        fenced ^= bool(_FENCE.match(line))
        item = bool(_ITEM.match(line)) and not fenced
        if item and not listed and lines and lines[-1]:
            lines.append("")
        listed = bool(line) and (listed or item)
        lines.append(line)
    return "\n".join(lines) + "\n"
