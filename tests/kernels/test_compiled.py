"""A loop is compiled once: for all processes and constants, until a source that it is made of is edited."""

from __future__ import annotations

import pickle
import runpy
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.kernels import compiled

SOURCE = """
from murmura.kernels.compiled import compiled

@compiled
def power(x, n):
    result = x
    for _ in range(n):
        result = result * x
    return result

@compiled
def powers(x, short):
    return power(x, 2) + power(x, short) + power(x, len("abc"))
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "loops.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path / "loops.py"


def loops(module: Path) -> dict[str, Any]:
    """The loops of a process that has just begun."""
    return runpy.run_path(str(module))


def test_a_loop_is_compiled_by_one_process_and_loaded_by_the_others(module: Path) -> None:
    first, found = loops(module)["power"], list[int]()
    waiting = threading.Thread(target=lambda: found.append(first(2, 3)))
    with first._cache.one_process():  # as another process that compiles it
        waiting.start()
        waiting.join(1)
        assert waiting.is_alive()
    waiting.join()
    assert found == [16]
    second = loops(module)["power"]
    assert second(2, 3) == 16
    assert [sum(one.stats.cache_misses.values()) for one in (first, second)] == [1, 0]


def test_an_edited_source_elsewhere_compiles_a_loop_anew(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    misses = []
    for stamp in ("one", "other", "other"):
        monkeypatch.setattr(compiled, "compiled_sources", lambda stamp=stamp: stamp)
        loop = loops(module)["power"]
        assert loop(2, 3) == 16
        misses.append(sum(loop.stats.cache_misses.values()))
    assert misses == [1, 1, 0]


def test_a_loop_that_was_kept_with_a_type_that_has_moved_is_compiled_anew(module: Path) -> None:
    loop = loops(module)["power"]
    assert loop(2, 3) == 16
    (index,) = module.parent.rglob("loops.power-*.nbi")
    version = pickle.dumps(pickle.loads(index.read_bytes()))
    index.write_bytes(version + b"cmurmura.kernels.moved\nScratch\n.")
    again = loops(module)["power"]
    assert again(2, 3) == 16
    assert sum(again.stats.cache_misses.values()) == 1


def test_a_loop_without_a_file_is_compiled_all_the_same() -> None:
    made: dict[str, Any] = {}
    exec(compile(SOURCE, "<no file>", "exec"), made)
    assert made["powers"](1.5, 1) == 1.5**3 + 1.5**2 + 1.5**4


def test_constants_and_lengths_of_whole_numbers_share_one_version(module: Path) -> None:
    made = loops(module)
    assert made["powers"](1.5, np.int32(1)) == 1.5**3 + 1.5**2 + 1.5**4
    assert len(made["power"]._inner.overloads) == 1
    assert not made["power"].overloads
