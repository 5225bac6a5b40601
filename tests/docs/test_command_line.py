"""The help pages in docs/command-line.md are what the commands print; `make docs` writes them anew."""

import os
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from murmura.cli.app import EXIT_CODES, app

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
START, END = "<!-- help: begin -->", "<!-- help: end -->"


def commands() -> list[str]:
    """Every command that does something, by its words."""
    root = typer.main.get_command(app)
    found = []
    for name, command in sorted(root.commands.items()):  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        found += [f"{name} {one}" for one in sorted(inner)] if inner else [name]
    return found


def help_of(words: str) -> str:
    result = CliRunner().invoke(app, [*words.split(), "--help"], env={"COLUMNS": "100", "TERM": "dumb"})
    assert result.exit_code == 0, result.output
    text = re.sub(r"Usage: \S+", "Usage: murmura", result.output, count=1)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def written() -> str:
    return "\n\n".join(f"### murmura {words}\n\n```text\n{help_of(words)}\n```" for words in commands())


@pytest.mark.slow
def test_the_help_pages_are_the_commands_own() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    old, after = rest.split(END)
    if os.environ.get("MURMURA_WRITE_DOCS"):
        PAGE.write_text(f"{before}{START}\n\n{written()}\n\n{END}{after}", encoding="utf-8")
        pytest.skip("docs/command-line.md was written anew")
    assert old.strip() == written(), "run `make docs`"


def test_the_exit_codes_are_documented() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for code in re.findall(r"\d+", EXIT_CODES):
        assert re.search(rf"^\| {code} \|", text, re.MULTILINE), code
