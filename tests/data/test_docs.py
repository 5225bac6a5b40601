"""docs/data.md says what there is, and its examples run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from murmura.data.filters import FILTERS
from murmura.data.sources.registry import ALIASES, MADE_UP, SOURCES
from murmura.data.splits.registry import FROM_FILES, SPLITS, split_class
from murmura.data.tables.dialect import GUESSES
from tests.cli.processes import murmura

WHOLE = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")
BEFORE, _, AFTER = WHOLE.partition("\n## Features of items\n")  # which tests/data/test_features_docs.py runs
PAGE = BEFORE + AFTER.partition("\n## ")[2]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_everything_with_a_name_is_on_the_page() -> None:
    for name in [*SOURCES, *ALIASES, *MADE_UP, *FILTERS, *SPLITS, *FROM_FILES, *GUESSES]:
        assert f"`{name}" in PAGE, name
    for cls in map(split_class, [*SPLITS, *FROM_FILES]):
        for setting in cls.__dataclass_fields__:  # type: ignore[attr-defined]
            assert setting == "kind" or f"`{setting}`" in PAGE, f"{cls.__name__}.{setting}"


def test_the_python_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    for code in blocks("python"):
        exec(compile(code, "docs/data.md", "exec"), {})
    assert "temporal(test=0.2, validation=0.1)" in capsys.readouterr().out


def test_the_commands_run(tmp_path: Path) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    data = {line.split()[2] for line in lines if line.split()[1] == "data"}
    assert data == {"list", "synth", "describe", "split", "convert"}
    for line in lines:
        done = murmura(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{line}: {done.stderr}"
    assert (tmp_path / "toy-split.npz").exists()
    assert (tmp_path / "copy.tsv").exists()
