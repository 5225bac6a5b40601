"""The benchmarks exist, judge what they are given, and refuse unequal work."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.sides import Benchmark, measure

from benchmarks import __main__ as command

FOLDER = Path(command.__file__).parent


def test_every_benchmark_file_is_listed_and_states_its_goal() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "__main__", "world", "sides"}
    assert files == set(command.NAMES)
    for name in command.NAMES:
        benchmark = import_module(f"benchmarks.{name}").BENCHMARK
        assert isinstance(benchmark, Benchmark)
        assert benchmark.goal > 0


def test_lists_that_differ_are_not_equal_work() -> None:
    judge = import_module("benchmarks.topk").BENCHMARK.judge
    lists = np.arange(2000).reshape(200, 10)
    assert judge(lists, lists)[0] == "100.00% of the places equal"
    with pytest.raises(AssertionError, match="both sides rank the same scores"):
        judge(lists, lists[:, ::-1])


def test_metrics_that_differ_are_not_equal_work() -> None:
    judge = import_module("benchmarks.metrics").BENCHMARK.judge
    mine = {"P@10": 0.1, "R@10": 0.2, "nDCG@10": 0.3, "IC@10": 5.0, "G@10": 0.4}
    judge(mine, {"P@10": 0.1})
    with pytest.raises(AssertionError, match=r"P@10 is 0\.1 here and 0\.11 there"):
        judge(mine, {"P@10": 0.11})


def test_an_unknown_name_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "bprr"],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no benchmark 'bprr'" in done.stderr


def test_both_sides_are_measured_in_processes_of_their_own() -> None:
    mine, other = measure(__name__, ["ours", "theirs"])
    assert mine.answer != other.answer  # two process ids
    assert min(mine.seconds, other.seconds) > 0
    assert min(mine.peak_mb, other.peak_mb) > 1


def _spend() -> int:
    import os

    return os.getpid() if sum(range(10_000)) else 0


BENCHMARK = Benchmark(
    title="", ours=lambda: _spend, theirs=lambda: _spend, rival="us", goal=1, judge=lambda *_: ("", "")
)
