"""A plan by public figures says what was measured, refuses what cannot be, and is drawn."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.private import PrivateCooccurrence
from murmura.core.channel import ChannelSettings
from murmura.core.errors import SettingError
from murmura.engine.plan import Plan
from murmura.lab.privacy_plan.run import EPSILONS, PublicFigures, expected_gain, plan_releases
from murmura.testing.data import crowd
from tests.cli.processes import murmura

MEASURED = Path(__file__).parents[2] / "docs" / "results" / "privacy-plan.csv"


def test_the_curve_is_what_was_measured() -> None:
    """Where people have much in common it is right on average; where they have little, too careful."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if float(row["ratio"]) < 500]
    off: dict[str, list[float]] = {}
    for row in rows:
        popular, most = float(row["MostPop"]), float(row["without noise"])
        gain = (float(row["P@10"]) - popular) / (most - popular)
        if float(row["ratio"]) >= 1:
            off.setdefault(row["data"], []).append(gain - expected_gain(float(row["ratio"])))
        elif float(row["ratio"]) < 0.9 and row["data"].startswith("ml-"):
            assert gain < 0.1  # what is called hopeless is
    for data in ("ml-100k", "ml-latest-small", "ml-1m"):
        assert abs(np.mean(off[data])) < 0.1
        assert np.abs(off[data]).max() < 0.3
    for data in ("amazon-digital-music", "foursquare-italy"):
        assert np.mean(off[data]) > -0.1


def test_figures_of_data_give_the_outlook_of_a_training_on_it() -> None:
    """People with equally many items: then the figures are all there is to know."""
    rng = np.random.default_rng(0)
    data = crowd(400, 60)
    figures = PublicFigures.of(data)
    assert figures.people == np.count_nonzero(data.user_counts)
    assert figures.per_person == len(data) / figures.people
    assert 1 <= figures.effective_items <= figures.items
    way = ChannelSettings(channel="secure-sum", epsilon=4.0, hopeless=True)
    plan = Plan(PrivateCooccurrence(), data, channel=way, seed=int(rng.integers(10)))
    true = plan.noise_outlook()
    (found,) = plan_releases(figures, [figures.people], [4.0])
    assert true is not None
    assert found.forecast.noise == pytest.approx(true.noise, rel=0.02)  # someone has no rows
    assert found.forecast.signal == pytest.approx(true.signal, rel=0.35)  # histories differ in length


def test_as_many_people_as_a_refusal_asks_for_are_enough() -> None:
    figures = PublicFigures(1350, 25500, 40.0, 3300.0)
    (few,) = plan_releases(figures, [figures.people], [4.0])
    assert few.forecast.hopeless
    assert few.forecast.enough is not None
    for share, hopeless in ((1.0, False), (0.75, True)):
        (found,) = plan_releases(figures, [round(few.forecast.enough * share)], [4.0])
        assert found.forecast.hopeless is hopeless


def test_more_people_and_a_larger_epsilon_leave_more() -> None:
    figures = PublicFigures(1000, 3000, 50.0, 600.0)
    found = list(plan_releases(figures))
    by_people: dict[int, list[float]] = {}
    for one in found:
        by_people.setdefault(one.people, []).append(one.gain)
    assert all(sorted(gains) == gains for gains in by_people.values())
    columns = list(zip(*by_people.values()))
    assert all(sorted(column) == list(column) for column in columns)
    assert [one.epsilon for one in found[: len(EPSILONS)]] == list(EPSILONS)


def test_impossible_figures_are_refused() -> None:
    with pytest.raises(SettingError, match="effective items must be from 1 to the 10 items"):
        PublicFigures(100, 10, 5.0, 11.0)
    with pytest.raises(SettingError, match="must be above 0"):
        PublicFigures(0, 10, 5.0, 1.0)


def test_the_command_prints_and_draws(tmp_path: Path) -> None:
    words = ("--items", "3000", "--per-person", "50", "--effective-items", "600", "--people", "500")
    done = murmura("privacy", "plan", *words, "--people", "50000", "--plot", "plan.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "hopeless" in done.stdout
    assert "50,000" in done.stdout
    assert (tmp_path / "plan.svg").read_text(encoding="utf-8").startswith("<?xml")
    lines = murmura("privacy", "plan", *words, "--epsilon", "3", "--json", cwd=tmp_path).stdout.splitlines()
    assert [json.loads(line)["epsilon"] for line in lines] == [3.0]
    both = murmura("privacy", "plan", *words, "--like", "synth", cwd=tmp_path)
    assert both.returncode == 2
    assert "and not both" in both.stderr
    nobody = murmura("privacy", "plan", *words[:-2], cwd=tmp_path)
    assert "--people must be given" in nobody.stderr
