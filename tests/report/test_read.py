"""Folders as they are found: finished, half finished, damaged, or something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.engine.part_files import printable
from murmura.engine.run_folder import Run
from murmura.studies.compare.folder import read_runs, run_name
from tests.report.folders import Made, drawn, write_comparison, write_scores

VALUES = drawn(1, 0.2, 20)


def test_a_method_no_seed_changes_counts_as_finished_after_one_run(tmp_path: Path) -> None:
    models = [Made("once", [VALUES]), Made("thrice", [VALUES] * 3), Made("begun", [VALUES])]
    folder = read_runs(write_comparison(tmp_path / "c", models, seeds=3, status="interrupted"))
    assert [model.finished for model in folder.models] == [True, True, False]
    assert [part.status for part in folder.models[2].parts] == ["done", "missing", "missing"]


def test_states_and_errors_are_kept(tmp_path: Path) -> None:
    models = [Made("ok", [VALUES]), Made("bad", [VALUES], status="failed", error="out of\nmemory")]
    path = write_comparison(tmp_path / "c", [*models, Made("never", [])], status="running")
    folder = read_runs(path)
    assert [model.parts[0].status for model in folder.models] == ["done", "failed", "missing"]
    assert folder.models[1].parts[0].error == "out of\ufffdmemory"
    assert not folder.models[1].done


def test_a_run_of_a_comparison_can_be_read_alone(tmp_path: Path) -> None:
    path = write_comparison(tmp_path / "c", [Made("a b", [VALUES]), Made("c", [VALUES])])
    folder = read_runs(path / run_name("a b", 0))
    assert folder.kind == "run"
    assert [model.label for model in folder.models] == ["a b"]
    assert folder.models[0].finished


def test_a_fitted_run_is_read_before_and_after_its_evaluation(tmp_path: Path) -> None:
    run = Run.create(
        tmp_path / "r", {"data": {"name": "d"}, "protocol": "fpl", "model": {"name": "ease", "l2": 2.0}}
    )
    run.mark("fitted")
    before = read_runs(run.path)
    assert (before.kind, before.protocol, before.models[0].finished) == ("run", "fpl", False)
    assert before.models[0].settings == {"l2": 2.0}
    write_scores(run, VALUES, Made("ease", []))
    run.mark("done")
    assert read_runs(run.path).models[0].parts[0].metrics["P@10"] == pytest.approx(VALUES.mean())


def test_what_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"must be a run folder, but it has no config.yaml"):
        read_runs(tmp_path)
    (tmp_path / "config.yaml").write_text("a: 1\n")
    with pytest.raises(RunError, match=r"names no model"):
        read_runs(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("metrics.json", "{", "damaged"),
        ("metrics.json", "[]", "must hold an object"),
        ("per_user.csv", "", "do not fit its header"),
        ("per_user.csv", "user,P@10\nu1\n", "do not fit its header"),
        ("per_user.csv", "user,P@10\nu1,0.1\nu1,0.2\n", "repeats one"),
        ("rounds.csv", "epoch,loss\n1,2,3\n", "do not fit its header"),
        ("status.json", "7", "must hold an object"),
    ],
)
def test_a_damaged_part_is_named(tmp_path: Path, name: str, text: str, says: str) -> None:
    path = write_comparison(tmp_path / "c", [Made("a", [VALUES])])
    (path / "a-seed0" / name).write_text(text)
    part = read_runs(path).models[0].parts[0]
    with pytest.raises(RunError, match=says) as caught:
        _ = part.metrics, part.per_user, part.rounds
    assert name in str(caught.value)


def test_a_value_that_is_no_number_is_left_out(tmp_path: Path) -> None:
    path = write_comparison(tmp_path / "c", [Made("a", [VALUES])])
    file = path / "a-seed0" / "metrics.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"note": "x", "flag": True}))
    assert set(read_runs(path).models[0].parts[0].metrics) == {"P@10", "R@10", "IC@10"}


def test_printable() -> None:
    assert printable("a\x00\u202eb\ud800é") == "a\ufffd\ufffdb\ufffdé"
