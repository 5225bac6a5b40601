"""The benchmarks exist, judge what they are given, and refuse unequal work."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.fedsplit import judge_table, tune
from benchmarks.sides import Benchmark

from benchmarks import __main__ as command
from murmura.core.catalogue import Catalogue, Dataset
from murmura.lab.groups.tuned_groups import Tuning, TuningRequest
from tests.fedsplit.worlds import raters

FOLDER = Path(command.__file__).parent


def test_every_benchmark_file_is_listed_and_states_its_goal() -> None:
    shared = {"__init__", "__main__", "world", "sides", "clocked", "environments"}
    figures = {"exact_sums", "poisoned_sums", "tolerated_sums"}  # of what is read or bent, not of speed
    files = {path.stem for path in FOLDER.glob("*.py")} - shared - figures
    assert files == {name.split(":")[0] for name in command.NAMES}
    for name in command.NAMES:
        file, _, part = name.partition(":")
        module = import_module(f"benchmarks.{file}")
        benchmark = module.BENCHMARKS[part] if part else module.BENCHMARK
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


def test_what_must_not_become_slower_is_measured_by_name() -> None:
    assert set(command.CORE) <= set(command.NAMES)


def test_a_model_of_another_quality_is_not_the_kept_work(monkeypatch: pytest.MonkeyPatch) -> None:
    bpr = import_module("benchmarks.bpr")
    monkeypatch.setattr(bpr.world, "name", lambda: "ml-1m")
    bpr.as_kept(0.1166, 0.1166)
    with pytest.raises(AssertionError, match=r"P@10 is 0\.1000, 0\.1166 was kept"):
        bpr.as_kept(0.1, 0.1166)


def test_half_an_hour_is_spent_only_on_request() -> None:
    assert set(command.NAMES) - set(command.usual()) == {"fedsplit:table3"}


def test_a_table_of_fewer_groupings_is_not_the_whole_table() -> None:
    data = raters(people=50, items=40, share=0.7)
    request = TuningRequest(1, Tuning(trials=1, folds=2, passes=2, epochs=2), 1)
    seconds, found = tune(Dataset("made", data, Catalogue(data.items)), request)
    assert seconds > 0
    with pytest.raises(AssertionError, match="all groupings of FedSPLIT"):
        judge_table((seconds, found), None)


@pytest.mark.process
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
