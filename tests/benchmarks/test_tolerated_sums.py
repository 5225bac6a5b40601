"""Malicious devices that keep every bound lift no more items than they may list; too few of them lift none."""

import csv
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tolerated_sums import LIARS, lifted, read, trimmed

from murmura.core.interactions import Interactions

COUNTS = np.array([1, 1, 0, 4, 8])


@pytest.mark.parametrize(
    ("liars", "cap", "found"),
    [(3, 9, [1, 1, 0, 5, 8]), (4, 1, [5, 1, 0, 4, 8]), (4, 2, [5, 5, 0, 4, 8]), (5, 2, [5, 5, 0, 5, 8])],
)
def test_each_item_needs_as_many_devices_as_it_lacks_owners(liars: int, cap: int, found: list[int]) -> None:
    assert lifted(COUNTS, 5, liars, cap).tolist() == found


def test_only_owners_are_read_once_their_item_takes_part() -> None:
    """Item 9 is had by person 0 alone; the others have everything else."""
    rows = [(person, item) for person in range(6) for item in range(person % 2, 8)] + [(0, 9)]
    data = Interactions.of(*np.array(rows).T)
    assert read(data, 5, 3, 10)[0] == 0
    assert read(data, 5, 4, 10)[0] == 1


def test_what_an_outsider_reads_is_no_more_than_without_malicious_devices_up_to_those_tolerated() -> None:
    """The saved figures, beside `least` alone and nobody malicious; one more than is tolerated reads more."""
    file = Path(__file__).parents[2] / "docs" / "results" / "tolerated-sums.csv"
    with file.open(encoding="utf-8", newline="") as opened:
        rows = [row for row in csv.DictReader(opened) if row["cap"] != "none"]
    assert {row["data"] for row in rows} == {"ml-100k", "ml-1m", "amazon-digital-music"}
    beyond = 0
    for row in rows:
        (alone,) = (one for one in rows if one["data"] == row["data"] and one["tolerated"] == "0")
        for liars in LIARS:
            told, only = (int(row[f"{what}, {liars} liars"]) for what in ("told for certain", "only owners"))
            if liars <= int(row["tolerated"]):
                assert only == 0
                assert told <= int(alone["told for certain, 0 liars"])
            else:
                beyond += only > 0
    assert beyond


def test_trimmed_groups_take_in_no_item_that_a_higher_least_leaves_out() -> None:
    """Of t malicious devices the t largest groups have at least t owners, or all of them."""
    rng = np.random.default_rng(0)
    data = Interactions.of(rng.integers(0, 400, 3000), rng.zipf(1.5, 3000).clip(max=200))
    counts = np.asarray(data.item_counts)
    for tolerated in (1, 4):
        taken = trimmed(data, 5, tolerated, 50)
        assert taken.any()
        assert not taken[counts < 5 + tolerated].any()
        assert taken.sum() < (counts >= 5 + tolerated).sum()
    assert (trimmed(data, 5, 0, 50) == (counts >= 5)).all()
