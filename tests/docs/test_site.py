"""The site has every page, the reference every name, and what mkdocs reads differently is set right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import murmura
from murmura import federated, testing
from murmura.cli.app import app
from tests.docs.markdown_pages import ROOT, pages
from tests.front.test_architecture import ROWS
from website.external import fetched
from website.hooks import lists_apart, relinked, spelt_out

DOCS = ROOT / "docs"
HOST = "https://host.example/"


class Plain(yaml.SafeLoader):
    """Reads mkdocs.yml without making the Python objects it names."""


Plain.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)
SETTINGS = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Plain)


def leaves(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [leaf for inner in (nav.values() if isinstance(nav, dict) else nav) for leaf in leaves(inner)]


def test_every_page_is_in_the_navigation_once() -> None:
    named = leaves(spelt_out(SETTINGS["nav"], DOCS))
    there = {path.relative_to(DOCS).as_posix() for path in pages() if path.is_relative_to(DOCS)}
    there |= {f"notebooks/{path.stem}.md" for path in DOCS.glob("notebooks/*.ipynb")}
    assert sorted(named) == sorted(there)


@pytest.mark.parametrize(
    ("page", "prefix", "names"),
    [
        ("murmura.md", "murmura", {*dir(murmura)} - {"__version__", "report"}),
        ("federated.md", "murmura.federated", {one for one in dir(federated) if not one.startswith("_")}),
        ("testing.md", "murmura.testing", {*testing.__all__}),
    ],
)
def test_the_reference_has_every_name(page: str, prefix: str, names: set[str]) -> None:
    text = (DOCS / "reference" / page).read_text(encoding="utf-8")
    listed = re.findall(rf"^::: {re.escape(prefix)}\.(\w+)$", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert sorted({*listed, "Field"} if "`Field`" in text else listed) == sorted(names)  # Field is pydantic's


def test_the_picture_has_every_room_in_its_row() -> None:
    text = (DOCS / "images" / "rooms.svg").read_text(encoding="utf-8")
    rows: dict[str, list[str]] = {}
    for height, name in re.findall(r'class="head" x="[^"]*" y="(\d+)">(\w+)<', text):
        rows.setdefault(height, []).append(name)
    assert [sorted(row) for row in rows.values()] == [sorted(row.split()) for row in ROWS]


def shown_commands(path: Path) -> list[str]:
    """The lines of a page that call murmura, with those that go on in the next line."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(r"^(?: {4})?murmura (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/tutorials/{p.name}" for p in DOCS.glob("tutorials/*.md"))]
)
def test_commands_that_are_shown_exist_with_their_options(page: str) -> None:
    for line in shown_commands(ROOT / page):
        command: Any = typer.main.get_command(app)
        words = re.sub(r"\$\(.*\)", "", line).partition(" #")[0].split()
        context = typer.Context(command)
        while words and words[0] in getattr(command, "list_commands", lambda context: ())(context):
            command = command.get_command(context, words.pop(0))
        assert not hasattr(command, "commands"), line
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        assert [word for word in words if re.match(r"--?[a-zA-Z]", word) and word not in known] == [], line


def test_tests_that_the_readme_names_exist() -> None:
    named = re.findall(r"\btests/[\w/.]+", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(named) >= 3
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_citation_is_of_this_version() -> None:
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (told["cff-version"], told["version"]) == ("1.2.0", murmura.__version__)
    assert told["authors"] == [{"name": "The Murmura authors"}]
    assert {"message", "title"} <= set(told)


def test_a_folder_in_the_navigation_stands_for_its_pages(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    for name in ("b.md", "a.md", "c.csv"):
        (tmp_path / "more" / name).touch()
    nav = [{"Home": "index.md"}, {"More": ["more/", {"Book": "x.ipynb"}]}]
    assert spelt_out(nav, tmp_path) == [
        {"Home": "index.md"},
        {"More": ["more/a.md", "more/b.md", {"Book": "x.md"}]},
    ]


def test_links_lead_to_the_code_host_and_to_pages_of_notebooks() -> None:
    text = (
        "[a](../b.md#c) [d](../../examples/e.py) [f](x.ipynb) [g](https://h.example/../i) [j](#k) ![l](m.svg) "
        "[n](../results/reproductions/o.csv) [p](../results/q.csv)"
    )
    assert relinked(text, "papers/one.md", HOST) == (
        f"[a](../b.md#c) [d]({HOST}examples/e.py) [f](x.md) [g](https://h.example/../i) [j](#k) ![l](m.svg) "
        "[n](../results/reproductions/o.md) [p](../results/q.csv)"
    )


def test_a_list_is_set_apart_from_its_paragraph() -> None:
    text = "So:\n- one\n  more\n- two\n\nThen\n1. first\n2. second\n```\nx\n- y\n```\n"
    apart = "So:\n\n- one\n  more\n- two\n\nThen\n\n1. first\n2. second\n```\nx\n- y\n```\n"
    assert lists_apart(text) == apart
    assert lists_apart(apart) == apart


FETCHES = """<link rel="canonical" href="https://named.example"><a href="https://linked.example">x</a>
<link rel="stylesheet" href="https://one.example/a.css"><script src="//two.example/b.js"></script>
<style>@import "https://three.example/c"; p { background: url(https://four.example/d.png) }</style>
<script>import x from "https://five.example/e.mjs"</script><p style="background: url('//six.example/f')">g</p>
<img src="own.png"><svg><image xlink:href="https://seven.example/h.png"/></svg>"""


def test_what_a_page_fetches_from_elsewhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(FETCHES)
    found = sorted(re.findall(r"\w+(?=\.example)", url)[0] for url in fetched(page))
    assert found == ["five", "four", "one", "seven", "six", "three", "two"]
    sheet = tmp_path / "sheet.css"
    sheet.write_text("@font-face { src: url(//fonts.example/x.woff2), url(own.woff2) }")
    assert fetched(sheet) == ["//fonts.example/x.woff2"]
