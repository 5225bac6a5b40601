"""Sums of sums and groups on several devices: the bits of the flat federation, and who reads what."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.core.channel import SUM_PROTOCOLS, ChannelSettings
from murmura.core.errors import SettingError
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.lab.protections.hierarchy import Arrangement, Regional, gather_members, group_levels, region_levels
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod
from tests.flower.federations import SEED, interactions

CHANNEL = {"channel": "secure-sum", "minimum_cohort": 2}
METHODS: dict[str, dict[str, Any]] = {
    "pfpl+": {**CHANNEL, "rounds": 2, "clients": "all"},
    "fcf": {**CHANNEL, "epochs": 1, "ring": 24, "bits": 12, "minimum_cohort": 1},
    "fed-ease": CHANNEL,
}


def same(one: FederatedModel, other: FederatedModel) -> None:
    for mine, theirs in ((one.model, other.model), (one.states, other.states)):
        assert mine.keys() == theirs.keys()
        for name, table in mine.items():
            np.testing.assert_array_equal(table, theirs[name])
    assert one.ledger.totals == other.ledger.totals
    np.testing.assert_array_equal(one.ledger.disclosed, other.ledger.disclosed)


@pytest.mark.parametrize("name", METHODS)
def test_sums_of_sums_have_the_bits_of_the_flat_sum(name: str) -> None:
    preset, data = algorithm(name)(**METHODS[name]), interactions()
    flat = FederatedMethod(preset).fit(data, SEED)
    same(FederatedMethod(preset, Regional(regions=3)).fit(data, SEED), flat)
    plain = FederatedMethod(preset, InProcess(path="plain")).fit(data, SEED)
    same(FederatedMethod(preset, Regional(regions=2, path="plain", workers=2)).fit(data, SEED), plain)


def test_noise_is_added_once_to_the_sum_of_all_regions() -> None:
    preset = algorithm("fed-mostpop")(channel="secure-sum", minimum_cohort=2, epsilon=5.0, hopeless=True)
    flat = FederatedMethod(preset).fit(interactions(), SEED)
    same(FederatedMethod(preset, Regional(regions=3)).fit(interactions(), SEED), flat)


def test_a_region_of_too_few_and_updates_without_a_channel_are_refused() -> None:
    few = algorithm("pfpl+")(channel="secure-sum", minimum_cohort=20, rounds=1, clients="all")
    with pytest.raises(SettingError, match="must be at least the minimum cohort of 20, but there are 14"):
        FederatedMethod(few, Regional(regions=3)).fit(interactions(), SEED)
    with pytest.raises(SettingError, match="regions hand on sums of whole numbers, but phase 'train' has no"):
        FederatedMethod(algorithm("pfpl+")(rounds=1), Regional()).fit(interactions(), SEED)


@pytest.mark.parametrize("channel", SUM_PROTOCOLS)
def test_protocols_between_single_devices_have_no_regions(channel: str) -> None:
    preset = algorithm("fed-mostpop")(channel=channel, minimum_cohort=2)
    with pytest.raises(SettingError, match=f"but channel '{channel}' is a protocol between single devices"):
        FederatedMethod(preset, Regional()).fit(interactions(), SEED)


@pytest.mark.parametrize(("arrangement", "copies"), [("household", 0), ("intermediate", 1), ("members", None)])
def test_groups_on_several_devices_train_what_a_household_trains(
    arrangement: Arrangement, copies: int | None
) -> None:
    method, data = FederatedMethod(algorithm("fedsplit")()), interactions(ratings=True)
    groups = method.groups(data, SEED)
    plan, at_home = method.plan(data, SEED, groups), method.fit(data, SEED)
    gathered, moved = gather_members(plan.people, arrangement)
    several = replace(plan)
    vars(several)["people"] = gathered
    same(fit(several, runtime=InProcess()), replace(at_home, names=()))
    _, once = gather_members(plan.people, "intermediate")
    assert groups is not None
    others = np.bincount(groups.of[groups.of >= 0]) - 1 if copies is None else copies
    np.testing.assert_array_equal(moved, once * others)


def test_every_level_is_told_what_it_reads() -> None:
    assert "sum of its people" in region_levels(ChannelSettings(channel="secure-sum"))["a region's server"]
    assert "update of each" in region_levels(ChannelSettings(channel="readable"))["a region's server"]
    assert "no update of anyone" in region_levels(ChannelSettings())["the federation's server"]
    assert "ratings of all members" in group_levels("members")["every member's device"]
    assert "its own ratings" in group_levels("intermediate")["a member's device"]
    with pytest.raises(SettingError, match="members of groups must be told apart"):
        gather_members(FederatedMethod(algorithm("pfpl+")()).plan(interactions(), SEED, None).people, "members")
