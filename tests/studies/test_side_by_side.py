"""Who does the fits changes nothing: one process, two, or the workers of a cluster."""

import csv
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from murmura.core.errors import DataError, MissingExtraError, SettingError
from murmura.core.settings import field_names
from murmura.engine.prepared import prepare, whole_split
from murmura.engine.protocol import protocol
from murmura.studies.compare import run as runner
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.run import compare
from murmura.studies.methods import method_class, names
from murmura.studies.search.grid import search
from murmura.studies.search.space import grid
from murmura.studies.worker_pool import Workers, as_finished, processes
from tests.studies import held_rows
from tests.studies.worlds import rated_world, small_world

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="extra cluster")
OTHERS = [Workers(2), pytest.param(Workers(cluster="local:2"), marks=needs_dask)]
MODELS = {"ease": {}, "fcf": {"epochs": 2, "channel": "readable", "minimum_cohort": 2}}
TIMED = {"seconds.json", "status.json", "environment.json", "opened.json"}  # what a clock writes


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name not in TIMED)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("workers", OTHERS)
def test_runs_side_by_side_have_the_bytes_of_runs_in_turn(workers: Workers, tmp_path: Path) -> None:
    ready = replace(plan(small_world(), "default", MODELS, seeds=2), keep="all")
    in_turn = list(compare(ready, tmp_path / "in turn"))
    beside = list(compare(ready, tmp_path / "beside", workers=workers))
    assert beside == in_turn
    assert files(tmp_path / "beside") == files(tmp_path / "in turn")
    assert list(compare(ready, tmp_path / "beside", workers=workers)) == in_turn  # what is finished stays


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("workers", OTHERS)
def test_trials_are_the_same_whoever_fits(workers: Workers, tmp_path: Path) -> None:
    selection = prepare(small_world(), protocol("default", small_world())).selection()
    candidates = grid({"factors": [3, 5], "alpha": [0.01, 0.1], "epochs": [1, 2]})

    def trials(team: Workers, name: str) -> list[dict[str, str]]:
        list(search(selection, "bpr-mf", candidates, tmp_path / name, workers=team))
        with (tmp_path / name).open() as file:
            return [
                {key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)
            ]

    assert trials(workers, "others.csv") == trials(Workers(1), "one.csv")


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_model_that_was_handed_back_leaves_the_files_of_one_fitted_here(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every method there is, through the worker's half in this process: its archive has all that is needed."""
    short = {"epochs": 1} if "epochs" in field_names(method_class(name)) else {}
    models = {label: {"name": name, **short} for label in ("one", "other")}
    for rules in ("default", "ratings"):
        try:
            ready = replace(plan(rated_world(), rules, models), keep="all")
            list(compare(ready, tmp_path / "here"))
            break
        except (DataError, MissingExtraError, SettingError) as error:
            why = str(error)
    else:
        pytest.skip(why)
    monkeypatch.setattr(runner, "processes", lambda workers, common: processes(1, common))
    list(compare(ready, tmp_path / "there", workers=2))
    assert files(tmp_path / "there") == files(tmp_path / "here")


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("impostor", [False, True])
@pytest.mark.parametrize("workers", OTHERS)
def test_no_test_row_is_in_a_worker_of_a_comparison(
    workers: Workers, impostor: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, rules = small_world(), protocol("default", small_world())
    split = whole_split(world, rules)
    monkeypatch.setattr(runner, "fit_held", held_rows.fit_and_look)
    if impostor:
        monkeypatch.setattr(runner, "TrainingPart", partial(held_rows.SentWhole, split=split))
    list(compare(plan(world, "default", MODELS), tmp_path / "out", workers=workers))
    seen = [json.loads(file.read_text()) for file in (tmp_path / "out").rglob(held_rows.FILE)]
    found = {(user, item) for rows in seen for user, item in rows}
    assert len(seen) == len(MODELS)
    assert found >= held_rows.pairs(split.train)  # it looks where the rows are
    assert bool(found & held_rows.pairs(split.test)) == impostor


@pytest.mark.process
@pytest.mark.slow
def test_a_worker_killed_in_a_fit_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready, lines = plan(small_world(), "default", MODELS, seeds=2), list[str]()
    list(compare(ready, tmp_path / "one"))
    monkeypatch.setattr(runner, "fit_held", held_rows.fit_after_a_kill)
    monkeypatch.setenv(held_rows.KILLED, str(tmp_path / "killed"))
    list(compare(ready, tmp_path / "two", workers=Workers(2, said=lines.append)))
    assert len(lines) == 1
    assert (tmp_path / "killed").exists()
    assert files(tmp_path / "two") == files(tmp_path / "one")


def test_few_results_wait_however_many_tasks() -> None:
    begun: list[int] = []
    with processes(1) as pool:
        for number, future in as_finished(pool, ((n, partial(begun.append, n)) for n in range(9))):
            assert future.result() is None
            assert len(begun) <= number + 3
    assert begun == list(range(9))


def test_what_a_worker_is_sent_for_a_search_has_no_test_row() -> None:
    data, rules = small_world(), protocol("default", small_world())
    sent, pairs = pickle.loads(pickle.dumps(prepare(data, rules).selection())).split, held_rows.pairs
    test = pairs(whole_split(data, rules).test)
    assert test
    assert not test & (pairs(sent.train) | pairs(sent.test) | pairs(sent.data))


@pytest.mark.process
def test_without_the_extra_one_sentence_says_which(tmp_path: Path) -> None:
    code = "import sys; sys.modules['distributed'] = None; from murmura.cli.app import main; main()"
    flags = ("search", "--model", "user-knn", "--grid", "k=1,2", "--data", "synth", "--cluster", "local:2")
    done = subprocess.run(
        [sys.executable, "-c", code, *flags], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 5
    assert (
        "--cluster needs an optional part that is not installed: run pip install 'murmura[cluster]'."
        in done.stderr
    )
