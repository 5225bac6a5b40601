"""The command line's page: every command has its help on the site, and the page has every exit code."""

import re
from pathlib import Path

import pytest

from murmura.cli.app import EXIT_CODES
from website.help_pages import commands, help_pages

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


@pytest.mark.slow
def test_every_command_has_its_help_on_the_site() -> None:
    parts = help_pages().split("### murmura ")[1:]
    assert [part.partition("\n")[0] for part in parts] == commands()
    assert all(re.search(r"^Usage: murmura .*^  -h, --help ", part, re.MULTILINE | re.DOTALL) for part in parts)


def test_the_exit_codes_are_documented() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for code in re.findall(r"\d+", EXIT_CODES):
        assert re.search(rf"^\| {code} \|", text, re.MULTILINE), code
