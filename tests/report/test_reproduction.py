"""The page of a reproduction: several data sets side by side, verdicts in words, ids that do not meet."""

import csv
import re
from pathlib import Path

import pytest

from murmura.core.settings import changed
from murmura.lab.papers.experiment_page import write
from murmura.lab.papers.experiments import Experiment, read_experiment
from murmura.lab.papers.published_results import published_results
from murmura.lab.papers.reproduce import ExperimentPlace, reproduce
from tests.studies.experiment_files import check_ins, small

pytestmark = pytest.mark.slow


def silent(what: str, seconds: float, done: int, total: int, left: float) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, list[ExperimentPlace], Path]:
    """A sweep on two data sets, printed numbers for the first."""
    folder = tmp_path_factory.mktemp("page")
    text = """title: Two <b>bold</b> data sets
paper: none
docs: docs/reproduce.md
data: [ml-1m]
shown: [P@10]
seeds: 2
analyses: [sweep]
rows:
  Top-Pop: {model: mostpop}
  User-kNN: {model: user-knn, settings: {k: 5}}
  sFPL: {model: sfpl, settings: {factors: 4, epochs: 3}, sweep: {pi: [0.5, 1.0]}}
  Left: {model: sfpl, settings: {factors: 4, pi: 0.0}, epochs: 1}
"""
    one = changed(read_experiment(small(folder, text, "two")), also=("x",))
    places = []
    for name, users in (("first", 30), ("second", 36)):
        (folder / name).mkdir()
        data = check_ins(folder / name, users=users)
        place = ExperimentPlace(one, str(data.rename(folder / f"{name}.csv")), folder / "out" / f"two-{name}")
        reproduce(place, 1, silent)
        places.append(place)
    best = {"Top-Pop": {"P@10": 1.0}, "User-kNN": {"P@10": 0.0001}, "sFPL pi=1": {"P@10": 0.5}}
    gone = {"VAE": {"P@10": 0.2}}
    doubts = [{"rows": ["sFPL pi=1"], "reason": "Nobody knows."}]
    printed = changed(one, data=[places[0].data], printed={places[0].data: best | gone}, doubts=doubts)
    return printed, places, folder / "out"


def test_the_page_says_what_was_reached_and_what_not(
    shown: tuple[Experiment, list[ExperimentPlace], Path],
) -> None:
    experiment, places, out = shown
    files = write(experiment, places, out)
    page = files[0].read_text(encoding="utf-8")
    assert "Of 4 printed numbers: 1 not reached, 1 above print, 1 printed number doubtful, 1 not run." in page
    assert "printed number doubtful (1)" in page
    assert "(1) Nobody knows." in page
    assert "&lt;b&gt;bold" in page
    assert "<b>" not in page
    assert "each row against the best centralised one, User-kNN, user by user" in page


def test_ids_are_unique_and_links_lead_somewhere(shown: tuple[Experiment, list[ExperimentPlace], Path]) -> None:
    experiment, places, out = shown
    page = write(experiment, places, out)[0].read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:url\(#|href="#)([^)"]+)', page)
    assert set(used) <= set(ids)


def test_writing_again_changes_nothing(shown: tuple[Experiment, list[ExperimentPlace], Path]) -> None:
    experiment, places, out = shown
    first = {file.name: file.read_bytes() for file in write(experiment, places, out)}
    assert {file.name: file.read_bytes() for file in write(experiment, places, out)} == first


def test_some_rows_of_a_shared_run_are_shown_alone(
    shown: tuple[Experiment, list[ExperimentPlace], Path], tmp_path: Path
) -> None:
    experiment, places, _ = shown
    part = changed(experiment, shown_rows=("sFPL", "Top-Pop"), printed={}, name="part", shown=("P@10", "F1@10"))
    page, numbers, markdown, record, *_ = write(part, places, tmp_path)
    with numbers.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["row"] for row in rows} == {"Top-Pop", "sFPL pi=0.5", "sFPL pi=1"}
    for text in (page.read_text("utf-8"), markdown.read_text("utf-8")):
        assert "User-kNN" not in text
        assert "Left" not in text
    two = [row for row in rows if row["row"] == "sFPL pi=1"]
    assert all(float(row["low"]) <= float(row["ours"]) <= float(row["high"]) for row in two)  # F1 as well
    kept = published_results("part", record.parent)
    assert {*kept} == {"first", "second"}
    assert all(one.seeds == 2 and one.fits > 0 and not one.quick for one in kept.values())
