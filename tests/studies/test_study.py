"""Studies: equal trials, one opening, failures as rows, and the same tables however they were run."""

import csv
import io
import json
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from murmura.core.errors import LeakError, RunError
from murmura.engine.prepared import FILE as OPENED
from murmura.engine.run_folder import Run
from murmura.lab.study.folder import StudyFolder
from murmura.lab.study.run import Attempt, attempt, every_attempt, study
from murmura.lab.study.section import study_tables
from murmura.lab.study.study_plan import StudyPlan, grids, plan_of, read_study
from murmura.report.table import to_csv
from murmura.studies.compare.run import FittedFiles, fit_held
from murmura.studies.methods import method, names
from murmura.studies.worker_pool import Workers, processes
from tests.cli.processes import killed_at, murmura, ratings

TIMES = ("environment.json", "place.json", "status.json", "seconds.json", "effort.json", ".murmura.lock")
DIVERGING = {"alpha": [1e30, 1e31], "epochs": [2], "factors": [4]}
METHODS: dict[str, Any] = {
    "mostpop": None,
    "ease": None,
    "pooled-ease": {"least": 1},
    "fed-ease": {"least": 1},
    "wild": {"name": "bpr-mf"},
    "huge": {"name": "ease", "memory_gb": 1e-9},
}


def values(folder: Path, **changes: Any) -> dict[str, Any]:
    file = str(ratings(folder))
    data = {
        "rated": {"data": file, "protocol": "default"},
        "oldest": {"data": file, "protocol": "default:pick=oldest"},
    }
    plan = {"data": data, "methods": METHODS, "grids": {"wild": DIVERGING}, "trials": 3, "metric": "nDCG@10"}
    return {**plan, **changes}


def plan(folder: Path, **changes: Any) -> StudyPlan:
    return plan_of(values(folder, **changes))


def rows(folder: Path, table: int = 1) -> list[dict[str, str]]:
    text = to_csv(study_tables(StudyFolder.open(folder))[table])
    return [*csv.DictReader(io.StringIO(text))]


def without_times(folder: Path) -> dict[str, Any]:
    """Every file of a study but what says when and how long, and its tables without CPU seconds."""
    found: dict[str, Any] = {}
    for path in sorted(one for one in folder.rglob("*") if one.is_file() and one.name not in TIMES):
        if path.suffix == ".part":  # a kill leaves what was not yet renamed
            continue
        name = path.relative_to(folder).as_posix()
        if name.startswith("trials/"):
            kept = json.loads(path.read_text())
            found[name] = {label: [{**one, "cpu": 0, "wall": 0} for one in own] for label, own in kept.items()}
        elif path.name == OPENED:
            found[name] = {**json.loads(path.read_text()), "at": ""}
        else:
            found[name] = path.read_bytes()
    tables = [[{**row, "CPU s": ""} for row in rows(folder, place)] for place in (0, 1)]
    return {**found, "tables": tables}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    study(plan(folder), folder / "runs" / "done")
    return folder / "runs" / "done"


def test_every_method_has_the_same_trials_or_its_whole_grid(done: Path) -> None:
    asked = plan(done.parents[1])
    for row in rows(done):
        assert int(row["trials"]) == min(asked.trials, len(asked.whole_grid(row["method"])))
    tried = StudyFolder.open(done).trials("rated")
    assert {label: len(own) for label, own in tried.items()} == {
        **{"mostpop": 1, "ease": 3, "pooled-ease": 3, "fed-ease": 3},
        **{"wild": 2, "huge": 3},
    }
    assert {row["method"]: row["trials"] for row in rows(done, 0)}["mostpop"] == "1, whole grid"
    # a federated method and its centralised equivalent are tried with the same settings, and are equal
    assert [one.settings for one in tried["fed-ease"]] == [
        {**two.settings, **{k: one.settings[k] for k in one.settings.keys() - two.settings.keys()}}
        for one, two in zip(tried["fed-ease"], tried["pooled-ease"])
    ]
    found = {(row["data"], row["method"]): row["value"] for row in rows(done)}
    assert all(found[name, "fed-ease"] == found[name, "pooled-ease"] != "" for name in ("rated", "oldest"))


def test_a_test_part_is_opened_once_and_that_is_counted(done: Path) -> None:
    for name in ("rated", "oldest"):
        opened = Run(done / name).read(OPENED)
        assert [*opened["choice"]["models"]] == ["mostpop", "ease", "pooled-ease", "fed-ease"]
    assert {row["openings"] for row in rows(done)} == {"1"}
    note = "Choices for which each test part was opened, in this folder and those beside it: rated 1, oldest 1."
    assert note in study_tables(StudyFolder.open(done))[0].notes


def test_another_study_of_the_same_data_counts_the_choice_before_it(done: Path) -> None:
    folder, beside = done.parents[1], done.parent / "again"
    one = {"rated": values(folder)["data"]["rated"]}
    study(plan(folder, data=one, methods="mostpop,user-knn", grids={}, trials=1), beside)
    assert {row["openings"] for row in rows(beside)} == {"2"}
    assert {row["openings"] for row in rows(done)} == {"1"}  # as it was then


def test_a_method_that_fails_is_a_row_with_its_reason(done: Path) -> None:
    found = {row["method"]: row for row in rows(done) if row["data"] == "rated"}
    assert "diverged" in found["wild"]["failed because"]
    assert found["wild"]["without value"] == "2"
    assert "memory_gb must be" in found["huge"]["failed because"]
    assert [found[label]["value"] for label in ("wild", "huge")] == ["", ""]
    assert [found[label]["rank"] for label in ("wild", "huge")] == ["5.5", "5.5"]
    for label in ("mostpop", "ease", "pooled-ease", "fed-ease"):
        assert float(found[label]["value"]) > 0
        assert not found[label]["failed because"]
    overview = study_tables(StudyFolder.open(done))[0]
    assert any(note.startswith("huge failed on rated: ") for note in overview.notes)


def test_ranks_and_readers(done: Path) -> None:
    found = {row["method"]: row for row in rows(done, 0)}
    assert [found[label]["the server reads"] for label in ("ease", "fed-ease")] == [
        "all data",
        "sums without noise",
    ]
    each = {name: [float(r["rank"]) for r in rows(done) if r["data"] == name] for name in ("rated", "oldest")}
    assert [sum(own) for own in each.values()] == [21, 21]  # of six places
    assert float(found["ease"]["mean rank"]) == pytest.approx((each["rated"][1] + each["oldest"][1]) / 2)
    assert float(found["fed-ease"]["kB up/client"]) > 0
    assert not found["ease"]["kB up/client"]


def test_recency_is_not_searched_where_rows_have_no_times(tmp_path: Path) -> None:
    lines = ratings(tmp_path).read_text().splitlines()
    (tmp_path / "timeless.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    grids = {"fed-ease": {"reg": [10, 100], "recency": [0.3, 0.6, 0.9]}}
    data = {"timeless": str(tmp_path / "timeless.csv")}
    study(plan(tmp_path, data=data, methods={"fed-ease": {"least": 1}}, grids=grids), tmp_path / "s")
    tried = StudyFolder.open(tmp_path / "s").trials("timeless")["fed-ease"]
    assert [(one.settings["reg"], one.failed) for one in tried] == [(10, ""), (100, "")]
    assert not any("recency" in one.settings for one in tried)


def test_what_is_done_is_not_repeated(done: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in done.rglob("metrics.json")}
    study(plan(done.parents[1]), done)
    assert {path: path.stat().st_mtime_ns for path in done.rglob("metrics.json")} == before
    with pytest.raises(RunError, match="holds another"):
        study(plan(done.parents[1], trials=4), done)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("team", [Workers(2), Workers(cluster="local:2")], ids=["processes", "cluster"])
def test_two_workers_write_the_same_bytes(team: Workers, done: Path, tmp_path: Path) -> None:
    study(plan(done.parents[1]), tmp_path / "runs" / "two", workers=team)
    assert without_times(tmp_path / "runs" / "two") == without_times(done)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize(("name", "times"), [("rated.json", 4), ("opened.json", 1), ("metrics.json", 6)])
def test_a_killed_study_ends_as_if_it_had_not_been(done: Path, tmp_path: Path, name: str, times: int) -> None:
    folder, file = tmp_path / "runs" / "killed", tmp_path / "plan.yaml"
    file.write_text(yaml.safe_dump(values(done.parents[1]), sort_keys=False))
    killed_at(name, times, "study", str(file), "--out", str(folder), cwd=tmp_path)
    assert not Run(folder).done
    study(read_study(file), folder)
    assert without_times(folder) == without_times(done)


def test_the_command_writes_one_table_in_three_forms(tmp_path: Path) -> None:
    one = {"rated": values(tmp_path)["data"]["rated"]}
    whole = values(tmp_path, data=one, methods="mostpop,ease", grids={})
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(whole, sort_keys=False))
    told = murmura("study", "plan.yaml", "--out", "out", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "rated nDCG@10" in told.stdout
    assert "run folder: out" in told.stderr
    for name in ("table", "rows"):
        assert (tmp_path / "out" / f"{name}.csv").read_text().count("\n") == 3
        assert "| ease |" in (tmp_path / "out" / f"{name}.md").read_text().replace(
            "| rated | default | nDCG@10", ""
        )
        assert "\\toprule" in (tmp_path / "out" / f"{name}.tex").read_text()
    assert murmura("report", "out/rated", cwd=tmp_path).returncode == 0
    again = murmura("study", "plan.yaml", "--out", "out", cwd=tmp_path)
    assert again.stdout == told.stdout


def test_a_fit_that_fails_after_its_search_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def short_of_memory(model: str, settings: dict[str, Any], seed: int) -> FittedFiles:
        if model == "ease":
            raise MemoryError
        return fit_held(model, settings, seed)

    monkeypatch.setattr("murmura.lab.study.run.fit_held", short_of_memory)
    one, said = {"rated": values(tmp_path)["data"]["rated"]}, list[str]()
    study(plan(tmp_path, data=one, methods="mostpop,ease", grids={}), tmp_path / "s", on_message=said.append)
    assert said == ["rated: ease has no result: not enough memory"]
    assert [row["failed because"] for row in rows(tmp_path / "s")] == ["", "not enough memory"]
    assert Run(tmp_path / "s").done


def end_worker() -> Attempt[int]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("was killed")


@pytest.mark.slow
@pytest.mark.process
def test_a_fit_that_ends_its_worker_does_not_end_the_others() -> None:
    calls: list[Callable[[], Attempt[int]]] = [partial(Attempt, place) for place in range(8)]
    calls.insert(1, end_worker)
    with processes(Workers(2)) as pool:
        found = dict(every_attempt(pool, calls))
    assert found.pop(1).failed.startswith("a fit must not end its worker process")
    assert {place: one.value for place, one in found.items()} == {0: 0, **{n: n - 1 for n in range(2, 9)}}


@pytest.mark.parametrize("error", [LeakError("a leak"), RunError("a folder"), KeyboardInterrupt()])
def test_what_a_study_may_not_survive(error: BaseException) -> None:
    def call() -> None:
        raise error

    with pytest.raises(type(error)):
        attempt(call)


def test_nothing_is_searched_once_the_test_part_is_open(tmp_path: Path) -> None:
    one = {"rated": values(tmp_path)["data"]["rated"]}
    asked = plan(tmp_path, data=one, methods="mostpop,ease", grids={})
    found = study(asked, tmp_path / "s")
    found.record_trials("rated", {"mostpop": found.trials("rated")["mostpop"]})
    found.of("rated").mark("interrupted")
    with pytest.raises(RunError, match="before the test part is opened"):
        study(asked, tmp_path / "s")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"methods": "eese"}, "did you mean 'ease'"),
        ({"methods": {"ease": {"regg": 1}}}, "unknown setting 'ease.regg'"),
        ({"methods": "ease"}, "'grids' must be of methods of the plan, but 'wild' is none"),
        ({"methods": "ease", "grids": {"ease": {"regg": [1]}}}, "unknown setting 'ease.regg'"),
        ({"metric": "P"}, "--metric must have its cut-off"),
        ({"trials": 0}, "trials: input should be greater than or equal to 1"),
        ({"data": {"a/b": "ml-latest-small-2016"}}, "must be called by letters"),
        ({"data": {"trials": "ml-latest-small-2016"}}, "must be called by letters"),
        ({"data": {"a": {"data": "ml-latest-small-2016", "protocl": "fpl"}}}, "Did you mean 'protocol'?"),
        ({"metric": "HR/sampled@10"}, "must score what the metric measures, but the metric is HR/sampled@10"),
        ({"metric": "RMSE"}, "must score what the metric measures, but the metric is RMSE"),
    ],
)
def test_what_cannot_be_run_is_refused_before_any_work(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(values(tmp_path, **changes), sort_keys=False))
    told = murmura("study", "plan.yaml", "--out", "out", cwd=tmp_path)
    assert told.returncode == 2
    assert sentence in told.stderr
    assert not (tmp_path / "out").exists()


def test_every_grid_is_of_a_method_and_its_settings_are_allowed() -> None:
    assert {*grids()} <= {*names()}
    whole = StudyPlan(data={}, methods={model: {} for model in grids()}, trials=10_000)
    whole.check()
    for model in grids():
        assert all(method(model, one) for one in whole.candidates(model))
        assert len({json.dumps(one) for one in whole.candidates(model)}) == len(whole.whole_grid(model))
