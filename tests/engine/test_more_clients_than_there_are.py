"""`clients` above the clients there are: every figure is that of a federation in which all take part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from murmura.algorithms import algorithm
from murmura.core.channel import ChannelSettings
from murmura.core.errors import SettingError
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.analyses.training_sections import freshness_table
from murmura.lab.papers.experiments import Counts, costs
from murmura.lab.sweep.folder import entry_points, freshness
from murmura.runtimes.inprocess import InProcess
from murmura.server.coordinator.setup import FederationSetup, RoundTiming
from murmura.server.loopback import Loopback
from murmura.studies.compare.comparison_plan import plan
from murmura.studies.compare.folder import ComparisonFolder
from murmura.studies.compare.run import compare
from murmura.testing import crowd
from murmura.testing.checks import assert_same_bits, assert_same_ledger
from murmura.wire.description import FederationDescription
from tests.studies.worlds import small_world

SECURE = ChannelSettings(channel="secure-sum", minimum_cohort=10)


def planned(clients: Any, channel: ChannelSettings = SECURE, **settings: Any) -> Plan:
    preset = algorithm("cfpl")(clients=clients, epochs=2, **settings)
    return Plan(preset.algorithm(), crowd(), preset.schedule(), seed=3, channel=channel)


def trained(clients: Any, runtime: Any) -> FederatedModel:
    return fit(planned(clients), runtime=runtime)


@pytest.mark.parametrize(
    "runtime", [InProcess(), InProcess(path="plain"), Loopback()], ids=["kernel", "plain", "http"]
)
def test_all_take_part_and_all_figures_say_so(runtime: Any) -> None:
    people = planned("all").info.clients
    many, every = trained(500, runtime), trained("all", runtime)
    assert_same_bits(many.model, every.model, "model")
    assert_same_ledger(many.ledger, every.ledger)
    assert many.cost() == every.cost()
    assert many.ledger.summary() == every.ledger.summary()
    lines = many.ledger.lines
    answering = lines[0].visits  # the counts, of those who share statistics
    assert answering <= people
    assert [line.visits for line in lines[1:]] == [
        people
    ] * 2  # |U| / |U|: a round an epoch, not |U| / 500 of one
    assert many.ledger.papers["freshness"] == 1.0
    assert many.ledger.papers["CCE"] == every.ledger.papers["CCE"] > 0


def test_the_costs_of_a_paper_are_those_of_all() -> None:
    size = Counts(users=40, items=100, rows=1000)
    many, every = (costs(size, "cfpl", {"clients": clients}) for clients in (500, "all"))
    assert many == every
    assert many["clients per round"] == 40


def test_who_cannot_raise_clients_is_not_told_to() -> None:
    """A minimum above all the clients there are is refused; more clients would not help."""
    people = planned("all").info.clients
    above = replace(SECURE, minimum_cohort=people + 1)
    for clients in (500, "all", people):
        with pytest.raises(SettingError) as refused:
            planned(clients, above)
        assert str(refused.value) == (
            f"clients per round must be at least the minimum cohort of {people + 1}, but there are {people} "
            "and no more; lower minimum_cohort."
        )
    with pytest.raises(SettingError, match=r"but there are 3; raise clients or lower minimum_cohort\."):
        planned(3)
    described = FederationDescription.of(crowd().items, planned("all").info)
    preset = algorithm("cfpl")(clients=500)
    setup = FederationSetup(
        preset, described, above, RoundTiming(round=60, hold=0, spread=0), 3, ("http://a", "http://b")
    )
    with pytest.raises(SettingError, match=f"but there are {people} and no more; lower minimum_cohort"):
        setup.itinerary()
    assert replace(setup, channel=SECURE).itinerary().cohort_size == people


def test_the_freshness_table_has_the_clients_there_were(tmp_path: Path) -> None:
    dataset = small_world()
    models = {f"{clients}": {"name": "cfpl", "clients": clients, "epochs": 1} for clients in (3, 5000, "all")}
    chosen = plan(dataset, "default", models)
    list(compare(chosen, tmp_path))
    found = entry_points(ComparisonFolder.open(tmp_path))
    people = chosen.prepared.split.train.n_users
    assert [point.clients for point in found] == ["3", str(people), "all"]
    table = freshness_table(freshness(found), 10)
    assert table is not None
    assert sorted(row[1].text for row in table.rows) == sorted(["3", str(people), "all"])
