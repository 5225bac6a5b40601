"""What `--help` prints of every command, as Markdown for the documentation site."""

from __future__ import annotations

import re

import typer
from typer.testing import CliRunner

from murmura.cli.app import app


def commands() -> list[str]:
    """Every command that does something, by its words."""
    root = typer.main.get_command(app)
    context, found = typer.Context(root), []
    for name in sorted(root.list_commands(context)):  # type: ignore[attr-defined]
        inner = getattr(root.get_command(context, name), "commands", None)  # type: ignore[attr-defined]
        found += [f"{name} {one}" for one in sorted(inner)] if inner else [name]
    return found


def help_pages() -> str:
    """A heading and the help of each command."""
    return "\n\n".join(f"### murmura {words}\n\n```text\n{_help_of(words)}\n```" for words in commands())


def _help_of(words: str) -> str:
    result = CliRunner().invoke(app, [*words.split(), "--help"], env={"COLUMNS": "100", "TERM": "dumb"})
    if result.exit_code:
        raise RuntimeError(f"`murmura {words} --help` must print its help, but ended with {result.output}")
    text = re.sub(r"Usage: \S+", "Usage: murmura", result.output, count=1)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
