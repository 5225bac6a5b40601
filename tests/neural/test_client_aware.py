"""The small table of chapter 5 from files to page, on made-up digits."""

import csv

import numpy as np
import pytest

from murmura.lab.classification.classified_samples import read_learning
from murmura.lab.papers.experiment_page import write
from murmura.lab.papers.experiments import experiment
from murmura.lab.papers.reproduce import ExperimentPlace, reproduce
from murmura.studies.compare.folder import ComparisonFolder
from tests.data.digits import write_digits

pytest.importorskip("torch")
pytestmark = pytest.mark.slow


def silent(what: str, seconds: float, done: int, total: int, left: float) -> None:
    """Nobody listens."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> ExperimentPlace:
    folder = tmp_path_factory.mktemp("client-aware")
    write_digits(folder / "mnist", train=400, test=250)
    one = experiment("client-aware-shards").smaller()
    made = ExperimentPlace(one, "mnist", folder / "client-aware-shards-mnist-quick", folder)
    reproduce(made, 1, silent)
    return made


def test_every_row_is_scored_after_every_round(place: ExperimentPlace) -> None:
    entries = {one.label: one for one in read_learning(ComparisonFolder.open(place.runs))}
    assert list(entries) == list(place.experiment.rows)
    for entry in entries.values():
        assert len(entry.seeds) == 2
        for seed in entry.seeds.values():
            assert seed.curve.accuracy.shape == (2, 20)
            assert seed.right is not None
            # the answers are those of the last round
            last = np.average(seed.curve.accuracy[-1], weights=seed.curve.held_out)
            assert seed.right.mean() == pytest.approx(last, abs=1e-5)
    base, equal = entries["DS"].seeds[0], entries["equal weights"].seeds[0]
    np.testing.assert_array_equal(base.curve.accuracy, equal.curve.accuracy)  # all clients hold as much


def test_the_page_has_the_curves_and_the_tables(place: ExperimentPlace) -> None:
    page, numbers, markdown, *_ = write(experiment("client-aware-shards"), [place], place.folder.parent)
    text = page.read_text(encoding="utf-8")
    assert "Accuracy over rounds" in text
    assert "Samples classified rightly by DS and by others" in text
    assert "beyond noise" in markdown.read_text(encoding="utf-8")
    with numbers.open(encoding="utf-8", newline="") as file:
        found = {(row["row"], row["metric"]): row["ours"] for row in csv.DictReader(file)}
    assert found["DS", "rounds/50>90"] == "2"  # not reached: the last round
    assert found["DS", "accuracy/rounds"] == found["equal weights", "accuracy/rounds"]


def test_tables_of_agreement_are_views_of_the_same_run(place: ExperimentPlace) -> None:
    shown = experiment("thesis-5.4")
    page, numbers, *_ = write(shown, [place], place.folder.parent)
    assert "probably not aligned" in page.read_text(encoding="utf-8")
    with numbers.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["row"] == "MW"]
    assert sum(float(row["ours"]) for row in rows) == pytest.approx(
        200
    )  # twenty clients, ten test samples each
    assert {row["verdict"] for row in rows} == {"printed number doubtful"}
