"""Blocks of Python from a page or a notebook, run one after the other as one module."""

import io
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def run(path: Path, blocks: Iterable[str], monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[str]]:
    """The names the blocks leave behind, and what each has printed."""
    module = ModuleType(f"page_{path.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    printed = []
    for block in blocks:
        with redirect_stdout(io.StringIO()) as shown:
            exec(compile(block, str(path), "exec"), module.__dict__)
        printed.append(shown.getvalue())
    return module.__dict__, printed
