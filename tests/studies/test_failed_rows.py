"""A method that fails is a row with its reason; all other rows follow."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from murmura.core.errors import DivergenceError, MemoryLimitError
from murmura.engine.run_folder import Run
from murmura.report import build
from murmura.runtimes.inprocess import InProcess
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.folder import read_runs
from murmura.studies.compare.run import compare
from murmura.studies.methods import method
from murmura.studies.search.grid import search
from tests.cli.processes import murmura
from tests.studies.worlds import small_world

SMALL = 1e-6  # GB: of no table here
TABLES = ("ease", "fed-ease", "fed-item-knn", "pooled-ease", "pooled-item-knn")


def grows(*_: Any) -> None:
    raise DivergenceError("bpr-mf.alpha must be smaller: the training grew without end.")


def takes_all(*_: Any) -> None:
    raise MemoryError("Unable to allocate 10 TiB")


@pytest.mark.parametrize("name", TABLES)
def test_too_large_a_table_is_refused_before_any_exchange(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def exchanged(*_: Any) -> None:
        raise AssertionError("an exchange began")

    monkeypatch.setattr(InProcess, "run", exchanged)
    settings = {"memory_gb": SMALL} | ({"minimum_cohort": 2} if name.startswith("fed") else {})
    with pytest.raises(MemoryLimitError, match="memory_gb must be at least"):
        method(name, settings).check(small_world().interactions, 0)


def test_a_share_that_may_leave_items_out_is_not_refused_for_all_of_them() -> None:
    rows = small_world().interactions
    enough = 40**2 * 12 / 1e9
    tight = {"memory_gb": enough * 0.9, "minimum_cohort": 2}
    with pytest.raises(MemoryLimitError):
        method("fed-ease", tight).check(rows, 0)
    method("fed-ease", {**tight, "pi": 0.1}).check(rows, 0)


@pytest.mark.parametrize("keep", ["none", "best"])
@pytest.mark.parametrize("broken", [grows, takes_all])
def test_all_other_rows_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Callable[..., None], keep: Any
) -> None:
    from murmura.baselines.bpr_mf import BprMf

    models = {"bpr-mf": {}, "ease": {"memory_gb": SMALL}, "mostpop": {}, "user-knn": {}}
    monkeypatch.setattr(BprMf, "fit", broken)
    ready = plan(small_world(), "default", models, seeds=2)
    lines = {line.label: line for line in compare(ready, tmp_path / "c")}
    assert list(lines) == list(models)
    assert [label for label, line in lines.items() if line.failed] == ["bpr-mf", "ease"]
    assert "memory_gb must be at least" in lines["ease"].flat()["error"]
    assert lines["bpr-mf"].seeds == 0
    alone = plan(small_world(), "default", {"mostpop": {}}, seeds=2)
    assert next(compare(alone, tmp_path / "alone")).values == lines["mostpop"].values
    folder = read_runs(tmp_path / "c")
    assert folder.run.status == "done"
    assert {model.label: bool(model.failure) for model in folder.models} == {
        label: label in ("bpr-mf", "ease") for label in models
    }
    page = build(tmp_path / "c").read_text(encoding="utf-8")
    assert "memory_gb must be at least" in page


def test_where_all_fail_the_first_failure_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from murmura.baselines.bpr_mf import BprMf

    with pytest.raises(MemoryLimitError):
        list(compare(plan(small_world(), "default", {"ease": {"memory_gb": SMALL}}), tmp_path / "a"))
    assert not (tmp_path / "a").exists() or not any((tmp_path / "a").glob("*seed*"))
    monkeypatch.setattr(BprMf, "fit", grows)
    with pytest.raises(DivergenceError):
        list(compare(plan(small_world(), "default", {"bpr-mf": {}}), tmp_path / "b"))
    assert Run.open(tmp_path / "b").status == "failed"


def test_a_method_that_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from murmura.baselines.bpr_mf import BprMf

    ready = plan(small_world(), "default", {"mostpop": {}, "bpr-mf": {"epochs": 1}})
    with monkeypatch.context() as patched:
        patched.setattr(BprMf, "fit", grows)
        assert [bool(line.failed) for line in compare(ready, tmp_path / "c")] == [False, True]
    assert [bool(line.failed) for line in compare(ready, tmp_path / "c")] == [False, False]


def test_a_setting_that_needs_too_much_memory_is_a_trial_without_a_value() -> None:
    selection = plan(small_world(), "default", {"ease": {}}).prepared.selection()
    tried = [{"memory_gb": SMALL}, {"memory_gb": 1.0}]
    values = [trial.value for trial in search(selection, "ease", tried)]
    assert math.isnan(values[0])
    assert values[1] > 0


def test_the_command_prints_the_reason_and_its_exit_code_says_that_some_failed(tmp_path: Path) -> None:
    rows = (f"u{u},i{i}\n" for u in range(30) for i in range(20) if (u + i * i) % (2 + i // 4) == 0)
    (tmp_path / "ratings.csv").write_text("user,item\n" + "".join(rows), encoding="utf-8")
    flags = ("--data", "ratings.csv", "--models", "mostpop,ease", "-S", f"ease.memory_gb={SMALL}")
    done = murmura("compare", *flags, cwd=tmp_path)
    assert done.returncode == 1
    assert "ease failed: ease.memory_gb must be at least" in " ".join(done.stdout.split())
    told = murmura("compare", *flags, "--json", cwd=tmp_path)
    assert told.returncode == 1
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert ["error" in line for line in lines] == [False, True]
