"""A search from its first trial to the one opening of the test part; real processes, spied on from inside."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from murmura.core.errors import RunError, SettingError
from murmura.engine.prepared import FILE as OPENED
from murmura.engine.run_folder import Run
from murmura.report import build
from murmura.studies.configuration import DataConfig
from murmura.studies.evaluate.run import evaluate_run
from murmura.studies.search.folder import CHOICE, TRIALS, SearchFolder
from murmura.studies.search.run import SearchConfig, search_run
from tests.cli.processes import killed_at, murmura, ratings

pytestmark = pytest.mark.slow

SPY = Path(__file__).with_name("spy.py")


def config(folder: Path, **changes: object) -> SearchConfig:
    given = {"search": "user-knn", "space": {"k": [1, 2, 5, 20]}, **changes}
    return SearchConfig(data=DataConfig(name=str(ratings(folder))), **given)  # type: ignore[arg-type]


def test_the_choice_is_kept_and_the_test_part_opened_once(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    found = list(search_run(config(tmp_path), folder))
    run = Run.open(folder)
    assert run.status == "chosen"
    assert not run.has(OPENED)
    assert not run.has("metrics.json")
    chosen = run.read(CHOICE)
    assert chosen["value"] == max(trial.value for trial in found)
    values = evaluate_run(folder)
    assert run.read(OPENED)["choice"] == {"model": {"name": "user-knn", **chosen["settings"]}}
    assert run.status == "done"
    assert evaluate_run(folder) == values  # the same choice, the same numbers
    page = build(folder).read_text()
    assert "opened once" in page
    assert "Search history" in page


def test_after_the_opening_nothing_is_chosen(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    list(search_run(config(tmp_path), folder))
    evaluate_run(folder)
    with pytest.raises(RunError, match="before the test part is opened"):
        list(search_run(config(tmp_path), folder))
    other = {**json.loads((folder / CHOICE).read_text()), "settings": {"k": 3}}
    (folder / CHOICE).write_text(json.dumps(other))
    with pytest.raises(RunError, match="start in a new folder"):
        evaluate_run(folder)


@pytest.mark.smoke
def test_what_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    some = search_run(config(tmp_path), folder)
    next(some)
    some.close()  # type: ignore[attr-defined]
    assert Run.open(folder).status == "interrupted"
    assert "interrupted" in build(folder).read_text()
    with pytest.raises(RunError, match="must hold a finished search, but it is interrupted"):
        evaluate_run(folder)
    with pytest.raises(RunError, match="holds another"):
        list(search_run(config(tmp_path, metric="R@10"), folder))
    with pytest.raises(SettingError, match="use --sampler tpe"):
        list(search_run(config(tmp_path, space={"k": "1:9:int"}), tmp_path / "new"))
    with pytest.raises(SettingError, match="learns in epochs"):
        list(search_run(config(tmp_path, patience=2), tmp_path / "new"))
    with pytest.raises(SettingError, match="unknown setting"):
        list(search_run(config(tmp_path, space={"kk": [1]}), tmp_path / "new"))
    with pytest.raises(SettingError, match="unknown setting"):
        list(search_run(config(tmp_path, sampler="tpe", space={"kk": "1:2"}), tmp_path / "new"))
    assert not (tmp_path / "new").exists()  # nothing is written of what is refused
    Run.create(tmp_path / "fit", {"model": {"name": "ease"}})
    with pytest.raises(RunError, match="must be the folder of a search"):
        SearchFolder.open(tmp_path / "fit")


@pytest.mark.process
@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_test_row_is_anywhere_in_the_process_that_searches(tmp_path: Path, workers: str) -> None:
    """A method of our own looks through every object and every frame of the process it is fitted in."""
    file = ratings(tmp_path)
    command = [sys.executable, str(SPY), str(file), str(tmp_path / "run"), workers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["tables"] > 0
    assert seen["held"] == 0
    assert seen["control"] > 0  # the same eyes do find test rows once they are opened


@pytest.mark.process
def test_a_search_survives_kill_9(tmp_path: Path) -> None:
    """Killed while two workers fit, called again: the trials of a search that nobody killed."""
    ratings(tmp_path)
    command = [
        "-q", "search", "--model", "bpr-mf", "--sampler", "tpe", "--trials", "10", "--space",
        "alpha=0.01:0.3:log", "--space", "factors=2:8:int", "-S", "epochs=20", "--data", "ratings.csv",
        "--out",
    ]  # fmt: skip
    trials = tmp_path / "killed" / TRIALS
    killed_at(TRIALS, 8, *command, "killed", "--workers", "2", cwd=tmp_path)  # opened twice for every line
    before = trials.read_text()
    assert 1 < len(before.splitlines()) < 11  # in the middle
    for folder in ("killed", "whole"):
        done = murmura(*command, folder, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert trials.read_text().startswith(before)  # nothing was tried again

    def told(folder: str) -> list[str]:
        lines = (tmp_path / folder / TRIALS).read_text().splitlines()
        return [line.rsplit(",", 1)[0] for line in lines]

    assert told("killed") == told("whole")
    choices = [json.loads((tmp_path / folder / CHOICE).read_text()) for folder in ("killed", "whole")]
    assert choices[0]["settings"] == choices[1]["settings"]


def test_the_command_from_search_to_test(tmp_path: Path) -> None:
    file = ratings(tmp_path)
    command = [
        "search", "--model", "bpr-mf", "--sampler", "tpe", "--trials", "5", "--space", "alpha=0.01:0.3:log",
        "-S", "epochs=6", "--patience", "2", "--data", str(file), "--out", "run",
    ]  # fmt: skip
    found = murmura(*command, "--json", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    chosen = json.loads(found.stdout)
    assert chosen["settings"]["epochs"] <= 6
    again = murmura(*command, "--json", cwd=tmp_path)
    assert json.loads(again.stdout) == chosen
    assert murmura("evaluate", "run", cwd=tmp_path).returncode == 0
    assert murmura("report", "run", cwd=tmp_path).returncode == 0
    late = murmura(*command, cwd=tmp_path)
    assert late.returncode == 4
    assert "before the test part is opened" in late.stderr
    assert "Traceback" not in late.stderr
    bad = murmura("search", "--model", "bpr-mf", "--space", "alpha", "--sampler", "tpe", cwd=tmp_path)
    assert bad.returncode == 2
    assert "--space must be KEY=" in bad.stderr
