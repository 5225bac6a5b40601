"""A notebook as Markdown: its text as it stands, code as Python, what a cell printed below it."""

from __future__ import annotations

import json
from typing import Any


def as_markdown(text: str) -> str:
    """The page of a notebook, given as the text of its file."""
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in _parts(cell)) + "\n"


def source(cell: dict[str, Any]) -> str:
    """What a cell says; the format allows a text or a list of lines."""
    return _joined(cell["source"])


def printed(cell: dict[str, Any]) -> str:
    """What a cell of code has printed."""
    return "".join(_joined(one["text"]) for one in cell["outputs"])


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _parts(cell: dict[str, Any]) -> list[str]:
    if cell["cell_type"] == "markdown":
        return [source(cell)]
    code, shown = _fenced("python", source(cell)), printed(cell)
    return [code, _fenced("text", shown)] if shown else [code]


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
