"""The sampler that learns: the same trials whatever the workers and the kills, inside its space, and better."""

import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from murmura.core.errors import RunError, SettingError
from murmura.studies.search.folder import Trial, name_of
from murmura.studies.search.grid import search
from murmura.studies.search.space import Range, Space, corners, parse_range
from murmura.studies.search.tpe import Tpe
from tests.studies.test_search import ready

pytestmark = pytest.mark.slow

SPACE: Space = {"alpha": Range(1e-4, 0.5, log=True), "factors": Range(2, 6, whole=True)}
FIXED = {"epochs": 4}


def run(trials: int, folder: Path | None = None, workers: int = 1, **more: Any) -> list[tuple[str, float]]:
    history, study = (None, None) if folder is None else (folder / "h.csv", folder / "study.db")
    asked = Tpe(SPACE, trials, FIXED, study)
    found = search(ready(), "bpr-mf", asked, history, workers=workers, **more)
    return [_plain(trial) for trial in found]


def _plain(trial: Trial) -> tuple[str, float]:
    return name_of(trial.settings), trial.value


def as_written(one: Range) -> str:
    """A range as it is written on the command line."""
    return f"{one.low:.12g}:{one.high:.12g}{':log' * one.log}{':int' * one.whole}"


def test_neither_workers_nor_files_change_a_trial(tmp_path: Path) -> None:
    alone = run(9)
    assert len(alone) == len({name for name, _ in alone}) == 9
    assert run(9, tmp_path / "a") == alone
    assert run(9, tmp_path / "b", workers=2) == alone
    assert run(9, seed=1) != alone


def test_a_killed_study_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    alone = run(14)
    for stop in (1, 5, 12):  # in the first group, in the second, between two
        folder = tmp_path / str(stop)
        some = search(ready(), "bpr-mf", Tpe(SPACE, 14, FIXED, folder / "study.db"), folder / "h.csv")
        assert [_plain(trial) for trial in islice(some, stop)] == alone[:stop]
        some.close()  # type: ignore[attr-defined]
        assert run(14, folder) == alone
        assert len((folder / "h.csv").read_text().splitlines()) == 15  # nothing was tried twice


def test_more_trials_go_on_with_the_same_ones(tmp_path: Path) -> None:
    alone = run(11)
    assert run(6, tmp_path) == alone[:6]
    assert run(11, tmp_path) == alone


def test_a_lost_history_is_tried_again(tmp_path: Path) -> None:
    first = run(5, tmp_path)
    (tmp_path / "h.csv").unlink()
    assert run(5, tmp_path) == first


def test_it_learns() -> None:
    """Settings asked for after thirty trials score better than those it began with, drawn blindly."""
    values = [value for _, value in run(44)]
    assert sum(values[32:]) / 12 > sum(values[:8]) / 8


@pytest.mark.smoke
def test_it_stays_inside() -> None:
    space: Space = {**SPACE, "epochs": [1, 3]}
    found = list(search(ready(), "bpr-mf", Tpe(space, 16)))
    assert {trial.settings["epochs"] for trial in found} == {1, 3}
    assert {trial.settings["factors"] for trial in found} <= {2, 3, 4, 5, 6}
    alphas = [trial.settings["alpha"] for trial in found]
    assert all(1e-4 <= alpha <= 0.5 and alpha == float(f"{alpha:.4g}") for alpha in alphas)
    assert min(alphas) < 0.01 < max(alphas)  # by its logarithm: a uniform draw is below 0.01 in 2 % of cases


def test_patience_makes_the_best_epoch_part_of_the_setting() -> None:
    found = list(search(ready(), "bpr-mf", Tpe(SPACE, 4, {"epochs": 9}), patience=2))
    assert all(1 <= trial.settings["epochs"] <= 9 for trial in found)
    assert len({trial.settings["epochs"] for trial in found}) > 1


@pytest.mark.smoke
def test_ranges_are_read_and_refused() -> None:
    assert parse_range("0.01:0.3:log") == Range(0.01, 0.3, log=True)
    assert parse_range("4:64:int:log") == Range(4, 64, log=True, whole=True)
    for text in ("1:2", "1e-05:0.5:log", "2:6:int", "2:64:log:int"):
        assert parse_range(as_written(parse_range(text))) == parse_range(text)
    for text, sentence in [
        ("", "LOW:HIGH"), ("1", "LOW:HIGH"), ("2:1", "LOW below HIGH"), ("1:1", "LOW below HIGH"),
        ("a:b", "LOW:HIGH"), ("1:2:3", "LOW:HIGH"), ("0:1:log", "above 0"), ("1:2.5:int", "whole ends"),
        ("nan:1", "LOW:HIGH"), ("1:inf", "LOW below HIGH"), ("1:2:lgo", "LOW:HIGH"),
    ]:  # fmt: skip
        with pytest.raises(SettingError, match=sentence):
            parse_range(text)
    assert corners({"a": Range(1, 2, whole=True), "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"}, {"a": 2, "b": "x"}, {"a": 1, "b": "x"}, {"a": 1, "b": "y"},
    ]  # fmt: skip


@pytest.mark.smoke
def test_what_is_refused_before_any_work(tmp_path: Path) -> None:
    for space, trials, sentence in [
        ({}, 4, "--trials of 1 or more"),
        (SPACE, 0, "--trials of 1 or more"),
        ({"alpha": Range(-1, 1)}, 4, "bpr-mf.alpha"),
        ({"alhpa": Range(0.1, 1)}, 4, "Did you mean 'alpha'"),
        ({"factors": Range(2.5, 6)}, 4, "bpr-mf.factors"),
    ]:
        with pytest.raises(SettingError, match=sentence):
            list(search(ready(), "bpr-mf", Tpe(space, trials)))  # type: ignore[arg-type]
    (tmp_path / "study.db").write_text("this is no database, it is a text of some length" * 20)
    with pytest.raises(RunError, match="SQLite file of a study"):
        list(search(ready(), "bpr-mf", Tpe(SPACE, 1, study=tmp_path / "study.db")))


def test_the_study_of_an_older_optuna_is_migrated_and_that_of_a_newer_left_as_it_was(tmp_path: Path) -> None:
    whole, study = run(6), tmp_path / "study.db"
    assert run(2, tmp_path) == whole[:2]
    _state_version(study, "v3.2.0.a")
    assert run(4, tmp_path) == whole[:4]
    before = study.read_bytes()
    assert run(4, tmp_path) == whole[:4]
    assert study.read_bytes() == before
    _state_version(study, "v99.0.0")
    newer = study.read_bytes()
    with pytest.raises(
        RunError, match=r"or older, but a newer Optuna made it version v99\.0\.0; install that one"
    ):
        run(6, tmp_path)
    assert study.read_bytes() == newer


def _state_version(study: Path, version: str) -> None:
    with closing(sqlite3.connect(study)) as db, db:
        db.execute("UPDATE alembic_version SET version_num = ?", (version,))
