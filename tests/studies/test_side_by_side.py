"""Who does the fits changes nothing: one process, two, or the workers of a cluster."""

import csv
import pickle
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from murmura.core.interactions import Interactions
from murmura.engine.protocol import prepare, protocol, whole_split
from murmura.studies.compare import compare, plan
from murmura.studies.search.grid import grid, search
from murmura.studies.worker_pool import Workers
from tests.studies.worlds import small_world

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


def test_what_a_worker_is_sent_for_a_search_has_no_test_row() -> None:
    data, rules = small_world(), protocol("default", small_world())
    sent = pickle.loads(pickle.dumps(prepare(data, rules).selection())).split

    def pairs(rows: Interactions) -> set[tuple[int, int]]:
        return set(zip(rows.user.tolist(), rows.item.tolist()))

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
