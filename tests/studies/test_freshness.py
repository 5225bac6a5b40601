"""Freshness: the rounds of an epoch, and its share of sequential training."""

from pathlib import Path

import pytest

from murmura.lab.sweep.folder import FRESHNESS, NORMALISED, entry_points, freshness
from murmura.lab.sweep.run import plan_sweep, sweep
from murmura.studies.compare.folder import ComparisonFolder
from tests.studies.worlds import small_world


def test_more_clients_in_a_round_are_less_fresh(tmp_path: Path) -> None:
    models = {"sfpl": {"epochs": 1, "factors": 3}, "sfpl+": {"epochs": 1, "factors": 3}}
    plan, what = plan_sweep(small_world(), "default", models, "clients", ["all", 1, 7], beside={"mostpop": {}})
    list(sweep(plan, what, tmp_path / "s"))
    found = freshness(entry_points(ComparisonFolder.open(tmp_path / "s")))
    assert [one.label for one in found] == [
        *("sfpl clients=1", "sfpl clients=7", "sfpl clients=all"),
        *("sfpl+ clients=1", "sfpl+ clients=7", "sfpl+ clients=all"),
    ]  # the most popular items are no federation
    assert [one.clients for one in found[:3]] == ["1", "7", "all"]
    # 600 training rows of 60 users: rpe = floor(600 / m)
    assert [one.found[FRESHNESS] for one in found[:3]] == [600, 85, 10]
    assert [one.found[NORMALISED] for one in found[3:]] == pytest.approx([1, 85 / 600, 10 / 600])
