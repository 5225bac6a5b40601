"""A reproduction: chosen on the validation part, the same for any number of workers, safe from kill -9."""

import csv
import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from murmura.core.errors import RunError, SettingError
from murmura.core.settings import changed
from murmura.engine.run_folder import Run
from murmura.lab.papers.experiment_page import write
from murmura.lab.papers.experiments import read_experiment
from murmura.lab.papers.reproduce import ExperimentPlace, fits, reproduce
from murmura.studies.compare.comparison_plan import default_settings
from murmura.studies.configuration import DataConfig
from murmura.studies.search.folder import Trial, best
from tests.cli.processes import MURMURA, alive, children, murmura, wait_for
from tests.studies.experiment_files import check_ins, small

pytestmark = pytest.mark.slow

RUN = ("reproduce", "run", "small.yaml", "--data", "ratings.csv", "--out", "out", "--workers")


def silent(what: str, seconds: float, done: int, total: int, left: float) -> None:
    """Nobody listens."""


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "out" / "small.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for the workers in /proc")
def test_a_killed_run_goes_on_without_repeating_finished_work(tmp_path: Path) -> None:
    small(tmp_path)
    check_ins(tmp_path)
    trials = tmp_path / "out" / "small-ratings" / "trials"
    process = subprocess.Popen([*MURMURA, *RUN, "2"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_for(lambda: trials.is_dir() and len(list(trials.glob("*.json"))) >= 2, process)
    workers = children(process.pid)
    process.kill()
    process.wait()
    wait_for(lambda: not any(map(alive, workers)))  # no worker outlives its parent
    before = {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in trials.glob("*.json")}
    assert not (tmp_path / "out" / "small.html").exists()

    assert murmura(*RUN, "2", cwd=tmp_path).returncode == 0
    for name, (at, content) in before.items():
        file = trials / name
        assert (file.stat().st_mtime_ns, file.read_bytes()) == (at, content)
    sessions = json.loads((tmp_path / "out" / "small-ratings" / "spent.json").read_text("utf-8"))["sessions"]
    # pi = 1 was tried with alpha: one fit serves both grids
    total = fits(read_experiment(tmp_path / "small.yaml")) - 1
    assert sessions[-1]["fits"] == total - len(before)
    assert (tmp_path / "out" / "small.html").is_file()

    whole = tmp_path / "whole"
    whole.mkdir()
    small(whole)
    check_ins(whole)
    assert murmura(*RUN, "1", cwd=whole).returncode == 0
    assert table(whole) == table(tmp_path)  # as if it had not been killed, for any number of workers
    page = (whole / "out" / "small.html").read_text(encoding="utf-8")
    assert "Search history" in page
    assert "wall minutes" in page


def test_settings_are_chosen_on_the_validation_part_alone(tmp_path: Path) -> None:
    """The held-out rows may say anything: what is chosen does not change."""
    path = small(tmp_path)
    data = check_ins(tmp_path)
    lines = data.read_text("utf-8").splitlines()
    other = tmp_path / "other.csv"
    header, rows = lines[0], [line.split(",") for line in lines[1:]]
    for row in rows:
        if int(row[3]) >= 1024 - 4:  # the newest floor(.2 * 24) = 4 rows of each user are the test part
            row[1] = "m89" if row[1] != "m89" else "m88"
    seen: set[tuple[str, str]] = set()
    unique = []
    for row in rows:
        while (row[0], row[1]) in seen:
            row[1] = f"m{(int(row[1][1:]) + 1) % 90:02d}"
        seen.add((row[0], row[1]))
        unique.append(",".join(row))
    other.write_text("\n".join([header, *unique]) + "\n", "utf-8")
    one = changed(read_experiment(path), seeds=1)
    chosen = []
    for name in (data, other):
        place = ExperimentPlace(one, str(name), tmp_path / name.stem)
        reproduce(place, 1, silent)
        chosen.append(json.loads((place.folder / "choices.json").read_text("utf-8")))
    assert chosen[0] == chosen[1]


def test_the_best_epoch_is_kept_and_a_fit_stops_when_nothing_improves(tmp_path: Path) -> None:
    one = changed(read_experiment(small(tmp_path)), seeds=1)
    place = ExperimentPlace(one, str(check_ins(tmp_path)), tmp_path / "out")
    reproduce(place, 1, silent)
    files = [json.loads(file.read_text("utf-8")) for file in (tmp_path / "out" / "trials").glob("sfpl-*.json")]
    assert len(files) == 4
    for tried in files:
        curve = np.array(tried["curve"])
        best = int(curve.argmax())
        assert tried["settings"]["epochs"] == best + 1
        assert tried["value"] == curve[best]
        assert len(curve) == 6 or len(curve) == best + 1 + 2  # patience 2


def test_another_experiment_is_refused_in_the_same_folder(tmp_path: Path) -> None:
    one = changed(read_experiment(small(tmp_path)), seeds=1)
    place = ExperimentPlace(one, str(check_ins(tmp_path)), tmp_path / "out")
    reproduce(place, 1, silent)
    with pytest.raises(RunError, match="holds another"):
        reproduce(ExperimentPlace(changed(one, seeds=2), place.data, place.folder), 1, silent)


SPACE = """title: A search by tpe
paper: none
docs: docs/reproduce.md
data: [ml-1m]
protocol: fpl
metric: P@10
trials: 6
metrics: [P, HR, SE]
cutoffs: [10, 1]
shown: [P@10, HR@1]
seeds: 1
against: kNN
rows:
  Top-Pop: {model: mostpop}
  kNN: {model: user-knn, search: [{k: "3:40:int", power: [1, 2]}]}
"""


def test_a_search_with_a_range_tries_so_many_settings_and_asks_for_the_same_ones_again(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    one = read_experiment(small(tmp_path, SPACE))
    data = str(check_ins(tmp_path, users=30))
    asked = []
    for workers, name in enumerate(("first", "again"), start=1):
        place = ExperimentPlace(one, data, tmp_path / name)
        reproduce(place, workers, silent)
        trials = [json.loads(file.read_text("utf-8")) for file in (place.folder / "trials").glob("*.json")]
        asked.append({(tried["settings"]["k"], tried["settings"]["power"]): tried["value"] for tried in trials})
        chosen = json.loads((place.folder / "choices.json").read_text("utf-8"))["kNN"]["entries"]["kNN"]
        assert asked[-1][chosen["k"], chosen["power"]] == max(asked[-1].values())
    assert asked[0] == asked[1]
    assert 4 <= len(asked[0]) <= 6  # tpe may ask for the same twice
    assert all(3 <= k <= 40 and power in (1, 2) for k, power in asked[0])
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "first" / "trials").glob("*.json")}
    reproduce(ExperimentPlace(one, data, tmp_path / "first"), 1, silent)
    assert before == {file: file.stat().st_mtime_ns for file in (tmp_path / "first" / "trials").glob("*.json")}
    kept = json.loads((tmp_path / "first" / "runs" / "kNN-seed0" / "metrics.json").read_text("utf-8"))
    assert set(kept) == {"P@10", "HR@10", "SE@10", "P@1", "HR@1", "SE@1"}


def test_the_row_an_experiment_is_about_is_tested_against_every_other(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    one = changed(read_experiment(small(tmp_path, SPACE)), analyses=("entropy",))
    place = ExperimentPlace(one, str(check_ins(tmp_path, users=30)), tmp_path / "out")
    reproduce(place, 1, silent)
    page, *_, markdown = write(one, [place], tmp_path)
    assert "| P@10 | Top-Pop | kNN |" in markdown.read_text("utf-8")
    assert "HR@10 against SE@10" in page.read_text("utf-8")


HEAD = """title: Rows that take over what was searched for another
paper: none
docs: docs/reproduce.md
data: [ml-1m]
protocol: fpl
shown: [P@10]
seeds: 1
"""
TUNED = (
    HEAD
    + """rows:
  searched:
    model: sfpl
    settings: {factors: 4, epochs: 3}
    search: [{alpha: [0.05, 0.5]}]
    trial: {epochs: 1}
  other: {model: sfpl, settings: {factors: 2, epochs: 2}, tuned_as: searched}
"""
)


def test_a_row_takes_over_what_was_searched_for_another_in_shorter_trials(tmp_path: Path) -> None:
    one = read_experiment(small(tmp_path, TUNED))
    place = ExperimentPlace(one, str(check_ins(tmp_path, users=30)), tmp_path / "out")
    reproduce(place, 1, silent)
    trials = [json.loads(file.read_text("utf-8")) for file in (place.folder / "trials").glob("*.json")]
    assert sorted((tried["asked"]["alpha"], tried["asked"]["epochs"]) for tried in trials) == [
        (0.05, 1),
        (0.5, 1),
    ]
    best = max(trials, key=lambda tried: tried["value"])["asked"]["alpha"]
    chosen = json.loads((place.folder / "choices.json").read_text("utf-8"))
    searched, other = chosen["searched"]["entries"]["searched"], chosen["other"]["entries"]["other"]
    assert (searched["alpha"], searched["epochs"], searched["factors"]) == (best, 3, 4)
    assert (other["alpha"], other["epochs"], other["factors"]) == (best, 2, 2)


RULES = (
    HEAD
    + """rows:
  searched: {model: bpr-mf, settings: {epochs: 2}, search: [{alpha: [0.02, 0.2], factors: [3, 4]}]}
  other: {model: fcf, tuned_as: searched, renamed: {alpha: gamma}, epochs: 2, patience: 2}
  third: {model: sfpl, settings: {epochs: 2, pi: 1.0}, tuned_as: searched, search: [{pi: [0.5, 1.0]}]}
"""
)


def test_a_row_goes_on_searching_from_what_another_found_under_its_own_names(tmp_path: Path) -> None:
    one = read_experiment(small(tmp_path, RULES))
    place = ExperimentPlace(one, str(check_ins(tmp_path, users=30)), tmp_path / "out")
    reproduce(place, 1, silent)
    chosen = json.loads((place.folder / "choices.json").read_text("utf-8"))
    found = {label: kept["entries"][label] for label, kept in chosen.items()}
    alpha, factors = found["searched"]["alpha"], found["searched"]["factors"]
    assert (found["other"]["gamma"], found["other"]["factors"]) == (alpha, factors)
    assert (found["third"]["alpha"], found["third"]["factors"]) == (alpha, factors)
    trials = [json.loads(file.read_text("utf-8")) for file in (place.folder / "trials").glob("*.json")]
    mine = {tried["asked"]["pi"]: tried["value"] for tried in trials if tried["row"] == "third"}
    assert mine[found["third"]["pi"]] == max(mine.values())
    assert {*mine} == {0.5, 1.0}
    assert len(trials) == fits(one) - 3  # the three on the test part


def test_what_is_taken_over_must_be_a_setting_of_the_model(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"small\.yaml:10: .*alpha"):
        read_experiment(small(tmp_path, RULES.replace("renamed: {alpha: gamma}, ", "")))


@pytest.mark.smoke
def test_a_training_that_diverges_loses_to_one_that_never_reaches_the_target() -> None:
    diverged = Trial({"learning_rate": 0.5}, math.nan, failed="it diverged")
    never = Trial({"learning_rate": 0.1}, math.nan)
    slow, soon = (Trial({}, rounds) for rounds in (40.0, 12.0))
    assert best([diverged, never], "rounds/50>80") is never
    assert best([diverged, never, slow, soon], "rounds/50>80") is soon
    assert best([diverged], "rounds/50>80") is diverged


def test_a_trial_whose_later_epochs_diverged_is_a_file_like_any_other(tmp_path: Path) -> None:
    half = Trial({"epochs": 1}, 0.1, model="sfpl", curve=(0.1, math.nan, math.nan))
    Run(tmp_path).write_json("one.json", half.plain())
    back = Trial.of(Run(tmp_path).read("one.json"))
    assert (back.value, back.curve[0]) == (0.1, 0.1)
    assert [math.isnan(one) for one in back.curve] == [False, True, True]


TIED = """title: Two settings that are equally good
paper: none
docs: docs/reproduce.md
data: [ml-1m]
protocol: fpl
shown: [P@10]
seeds: 1
rows:
  kNN: {model: user-knn, search: [{k: [50, 40]}]}
"""


def test_of_equally_good_settings_the_page_names_the_one_that_was_run(tmp_path: Path) -> None:
    one = read_experiment(small(tmp_path, TIED))
    place = ExperimentPlace(one, str(check_ins(tmp_path, users=30)), tmp_path / "out")  # all 29 others are near
    reproduce(place, 1, silent)
    assert json.loads((place.folder / "choices.json").read_text("utf-8"))["kNN"]["entries"]["kNN"]["k"] == 50
    markdown = write(one, [place], tmp_path)[-1].read_text("utf-8")
    assert "| kNN | k 50 |" in markdown


def test_a_row_may_take_what_compare_takes_below_its_own_settings(tmp_path: Path) -> None:
    rows = """rows:
  ruled: {model: bpr-mf, settings: {epochs: 2}, kept: true}
  plain: {model: bpr-mf, settings: {epochs: 2}}
"""
    data = check_ins(tmp_path, users=30)
    place = ExperimentPlace(read_experiment(small(tmp_path, HEAD + rows)), str(data), tmp_path / "out")
    reproduce(place, 1, silent)
    chosen = json.loads((place.folder / "choices.json").read_text("utf-8"))
    ruled, plain = (chosen[label]["entries"][label] for label in ("ruled", "plain"))
    asked = DataConfig(name=str(data)).prepare(place.experiment.protocol, None)
    usual, by_rule = default_settings("bpr-mf", asked, {"epochs": 2})
    assert by_rule
    assert {key: ruled[key] for key in usual} == {**usual, "epochs": 2}
    assert {key: plain[key] for key in usual} != {**usual, "epochs": 2}
