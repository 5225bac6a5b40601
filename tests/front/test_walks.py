"""How much of the house a command walks through: our files that run, those that are only imported apart.

Whoever must find the cause of a wrong number reads no more than these files.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import murmura as front
from tests.cli.processes import murmura

# files and rooms at most; fewer are better. A comparison went through 86 files before sums were proved
# (decision 32: 12 files), a centralised equivalent stood beside each method of sums (2 files) and defaults
# were held against MostPop on validation rows
COMPARED, RECOMMENDED, ROOMS = 101, 53, 12
HOUSE = str(Path(front.__file__).parent) + "/"
IMPORTS = "<frozen importlib"


@contextmanager
def walked() -> Iterator[set[str]]:
    """The files of ours that run in the block, in any thread, outside imports."""
    files, before = set[str](), sys.getprofile()

    def look(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(HOUSE) and name.removeprefix(HOUSE) not in files:
            outer: FrameType | None = frame
            while outer is not None and not outer.f_code.co_filename.startswith(IMPORTS):
                outer = outer.f_back
            if outer is None:
                files.add(name.removeprefix(HOUSE))

    install: list[Callable[[Any], None]] = [threading.setprofile, sys.setprofile]
    for one in install:
        one(look)
    try:
        yield files
    finally:
        for one in install:
            one(before)


def rooms(files: set[str]) -> set[str]:
    return {file.partition("/")[0] for file in files}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Sixty people with forty of eighty items each, at times of their own."""
    rng, path = np.random.default_rng(1), tmp_path / "own.csv"
    rows = [
        f"u{user},i{item},{rng.integers(3, 6)},{1_300_000_000 + 100_000 * user + 7_000 * item}"
        for user in range(60)
        for item in np.sort(rng.choice(80, 40, replace=False)).tolist()
    ]
    path.write_text("\n".join(["user,item,rating,timestamp", *rows, ""]))
    return path


@pytest.mark.slow
def test_a_comparison_and_a_recommendation_walk_through_few_files(table: Path, tmp_path: Path) -> None:
    chosen = ("--data", str(table), "--models", "mostpop,fed-ease", "--protocol", "fpl", "--out", "out")
    with walked() as compared:
        done = murmura("compare", *chosen, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with walked() as recommended:
        done = murmura("recommend", "out", "--model", "fed-ease", "--user", "u1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(compared) <= COMPARED, sorted(compared)
    assert len(rooms(compared)) <= ROOMS, rooms(compared)
    assert len(recommended) <= RECOMMENDED, sorted(recommended)
    assert "studies/scorer.py" in compared & recommended  # one object ranks and scores for both


def test_what_runs_is_seen_and_what_is_imported_is_not(tmp_path: Path) -> None:
    with walked() as files:
        from murmura.core.files import write_whole

        assert callable(write_whole)
    assert files == set()
    with walked() as files:
        write_whole(tmp_path / "file", b"")
    assert files == {"core/files.py"}
