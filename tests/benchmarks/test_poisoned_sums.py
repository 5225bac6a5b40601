"""What malicious devices reach in the saved figures: one promotes nothing, and neither do one in a thousand."""

import csv
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "docs" / "results" / "poisoned-sums.csv"
METHODS = {"fed-ease", "fed-item-knn", "fed-order", "fed-ease epsilon 4", "fed-mostpop epsilon 4"}
NO_TARGET = ("demotion", "drift", "null")  # of a popular item, or of none


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with FILE.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def test_one_device_promotes_no_cold_item_and_costs_little(rows: list[dict[str, str]]) -> None:
    alone = [row for row in rows if row["liars"] == "1"]
    assert {row["method"] for row in alone} == METHODS
    for row in alone:
        assert float(row["P@10"]) >= 0.995 * float(row["P@10 clean"]), row
        assert row["attack"] in NO_TARGET or float(row["ER@10"]) <= 0.001, row


def test_with_noise_one_device_costs_what_removing_an_honest_person_does(rows: list[dict[str, str]]) -> None:
    def lost(row: dict[str, str]) -> float:
        return float(row["P@10 clean"]) - float(row["P@10"])

    noisy = [row for row in rows if row["method"] == "fed-ease epsilon 4" and row["liars"] == "1"]
    measured = {row["attack"]: row for row in noisy if row["draws"] == "60"}
    none = measured.pop("null")
    assert {"promotion", "slow", "drift"} <= measured.keys()
    for row in measured.values():
        error = np.hypot(float(row["P@10 SE"]), float(none["P@10 SE"]))
        assert lost(row) - lost(none) <= 3 * error, row


def test_one_device_in_a_thousand_promotes_no_cold_item(rows: list[dict[str, str]]) -> None:
    few = [row for row in rows if (row["data"], row["liars"]) == ("ml-1m", "6")]
    assert {row["method"] for row in few} <= METHODS
    assert {"fed-ease", "fed-mostpop epsilon 4"} <= {row["method"] for row in few}
    assert all(float(row["ER@10"]) <= 0.01 for row in few if row["attack"] not in NO_TARGET)


def test_a_count_that_leaps_promotes_nothing_in_a_second_release_of_exact_sums(
    rows: list[dict[str, str]],
) -> None:
    second = [row for row in rows if row["release"] == "second" and row["liars"] == "47"]
    exact = [
        row for row in second if "epsilon" not in row["method"] and row["attack"] not in (*NO_TARGET, "slow")
    ]
    assert {row["method"] for row in exact} == {"fed-ease", "fed-item-knn", "fed-order"}
    assert all(float(row["ER@10"]) == 0 for row in exact)
