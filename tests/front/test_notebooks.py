"""The notebooks run as they stand, and print what they show; `make docs` writes it anew."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.front.running import run
from website.notebook import as_markdown, printed, source

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NUMBER = re.compile(r"\d+\.\d+")


def code_cells(book: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def same(kept: str, now: str) -> bool:
    """The same words and whole numbers; others within 3 %, as libraries of linear algebra round differently."""
    numbers = [[float(one) for one in NUMBER.findall(text)] for text in (kept, now)]
    return NUMBER.sub("#", kept) == NUMBER.sub("#", now) and numbers[1] == pytest.approx(numbers[0], rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.stem, marks=pytest.mark.smoke if path.stem == "algorithm" else ())
        for path in sorted(FOLDER.glob("*.ipynb"))
    ],
)
def test_a_notebook_prints_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = FOLDER / f"{name}.ipynb"
    book = json.loads(path.read_text(encoding="utf-8"))
    cells = code_cells(book)
    monkeypatch.chdir(tmp_path)
    _, now = run(path, map(source, cells), monkeypatch)
    if os.environ.get("MURMURA_WRITE_DOCS"):
        for cell, text in zip(cells, now):
            stream = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
            cell["outputs"] = [stream] if text else []
        path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        pytest.skip(f"{path.name} was written anew")
    for cell, text in zip(cells, now):
        assert same(printed(cell), text), f"{source(cell)}\n\nprints\n{text}"


def test_there_are_notebooks_for_three_purposes() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} >= {"compare", "privacy", "algorithm"}


def test_notebooks_say_nothing_of_the_machine_they_ran_on() -> None:
    for path in FOLDER.glob("*.ipynb"):
        book = json.loads(path.read_text(encoding="utf-8"))
        assert set(book["metadata"]) == {"kernelspec", "language_info"}
        assert book["metadata"]["language_info"] == {"name": "python"}
        for cell in code_cells(book):
            assert (cell["execution_count"], cell["metadata"]) == (None, {})
            assert all(one["output_type"] == "stream" for one in cell["outputs"])


def test_a_changed_number_or_word_is_found() -> None:
    assert same("a 0.131 of 7", "a 0.132 of 7")
    assert not same("a 0.131 of 7", "a 0.141 of 7")
    assert not same("a 0.131 of 7", "a 0.131 of 8")
    assert not same("a 0.131 of 7", "b 0.131 of 7")


def test_a_notebook_becomes_markdown() -> None:
    code = {"cell_type": "code", "source": ["print(1)\n", "print(2)"], "outputs": [{"text": ["1\n", "2\n"]}]}
    silent = {"cell_type": "code", "source": "x = 1", "outputs": []}
    book = {"cells": [{"cell_type": "markdown", "source": ["# Title\n", "text"]}, code, silent]}
    shown = (
        "# Title\ntext\n\n```python\nprint(1)\nprint(2)\n```\n\n```text\n1\n2\n```\n\n```python\nx = 1\n```\n"
    )
    assert as_markdown(json.dumps(book)) == shown
