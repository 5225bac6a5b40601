"""Levels of pi and epsilon: the price in lists is theirs who chose it, and what is shared is found."""

import json
from pathlib import Path

import numpy as np
import pytest

from murmura.evaluation.measure import Evaluation
from murmura.lab.privacy_plan import levels
from murmura.lab.privacy_plan.levels import CHOOSE, FOUND, PrivacyLevel, price_levels
from murmura.studies.configuration import DataConfig, FitConfig
from murmura.studies.fit.run import fit_run

PEOPLE = 40


def trained(lists: float, chose: np.ndarray, found: float) -> levels._Trained:
    """Lists are worth so much for who chose a level and 1 for all others; one of two attacks finds nothing."""
    values = np.where(chose, lists, 1.0)
    evaluation = Evaluation({"P@10": float(values.mean())}, {"P@10": values}, np.arange(PEOPLE, dtype=np.int32))
    attacks = {"reads nothing": np.full(PEOPLE, 0.5), "reads": np.where(chose, found, 1.0)}
    return levels._Trained(np.where(chose, 0.5, 1.0), evaluation, attacks)


def test_the_price_is_of_those_who_chose_the_level() -> None:
    nobody, chose = np.zeros(PEOPLE, np.bool_), np.arange(PEOPLE) % 5 == 0
    base, own, alike = trained(1.0, nobody, 1.0), trained(0.7, chose, 0.75), trained(0.4, ~nobody, 0.75)
    made = levels._level(0.5, None, base, own, alike, chose, "P@10")
    assert (made.people, made.attack) == (8, "reads")
    assert (made.without, made.lists, made.everyone) == pytest.approx((1.0, 0.7, 0.4))
    assert made.loss.mean == pytest.approx(0.3)  # 0.06 where all people are counted
    assert made.found.mean == pytest.approx(0.75)  # 0.95 where they are


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[PrivacyLevel]]:
    folder = tmp_path_factory.mktemp("levels") / "run"
    model = {"name": "fed-ease", "minimum_cohort": 20, "least": 1, "hopeless": True}
    fit_run(FitConfig(data=DataConfig(name="embedded"), model=model), folder)
    return folder, price_levels(folder, (0.5, 1.0), (0.5,), ("co-difference",))


@pytest.mark.slow
def test_sums_without_noise_show_what_is_shared_and_noise_hides_it(
    priced: tuple[Path, list[PrivacyLevel]],
) -> None:
    """Half of the items shared are found for certain and the others guessed: .75; with noise nothing is."""
    half, whole, noisy = priced[1]
    assert whole.loss.mean == 0.0
    assert whole.found.mean == pytest.approx(1.0, abs=0.01)
    assert half.found.mean == pytest.approx(0.75, abs=0.1)
    assert noisy.found.low < 0.5 < noisy.found.high
    assert half.people < 2 * CHOOSE * whole.people


@pytest.mark.slow
def test_the_folder_keeps_what_the_page_reads(priced: tuple[Path, list[PrivacyLevel]]) -> None:
    folder, found = priced
    kept = json.loads((folder / levels.FILE).read_text(encoding="utf-8"))
    assert kept["method"] == "fed-ease"
    assert kept["levels"] == [one.flat() for one in found]
    assert FOUND == "pm-AUC"
