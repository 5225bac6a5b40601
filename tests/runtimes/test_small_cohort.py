"""Few people in a simulation: the minimum cohort gives way there, and nowhere else."""

from __future__ import annotations

import pytest

import murmura
from murmura.core.errors import SettingError
from murmura.runtimes.simulation import simulated, small_cohort
from murmura.server.coordinator.setup import configured


@pytest.mark.parametrize(
    ("name", "settings", "people", "found"),
    [
        ("fed-ease", {}, 40, {"minimum_cohort": 40}),
        ("fed-ease", {}, 100, {}),
        ("fed-ease", {"minimum_cohort": 60}, 40, {}),
        ("fed-ease", {"channel": "none"}, 40, {}),
        ("cfpl", {}, 40, {}),
        ("cfpl", {"channel": "secure-sum"}, 40, {"minimum_cohort": 40}),
        ("fedsplit", {}, 40, {}),
    ],
)
def test_when_it_gives_way(name: str, settings: dict[str, object], people: int, found: dict[str, int]) -> None:
    assert small_cohort(name, settings, people) == found


def test_a_simulation_among_few_is_the_one_with_that_minimum() -> None:
    train = murmura.load("checkerboard").interactions
    by_itself = murmura.simulate("fed-mostpop", train)
    asked = murmura.simulate("fed-mostpop", train, {"minimum_cohort": train.n_users})
    assert by_itself.recommend_ids([0, 1], 3) == asked.recommend_ids([0, 1], 3)
    with pytest.raises(SettingError, match="at least the minimum cohort of 100, but there are 12 and no more"):
        simulated("fed-mostpop").check(train, 0)


def test_a_real_federation_keeps_its_minimum() -> None:
    _, channel = configured("fed-ease", {}, "secure-sum", None)
    assert channel.minimum_cohort == 100
