"""Trainings through other protocols that sum end in the model of the two aggregators."""

from dataclasses import replace

import numpy as np
import pytest

from murmura.algorithms import algorithm
from murmura.algorithms.fpl.fpl import FPL
from murmura.core.channel import MECHANISMS, SUM_PROTOCOLS, ChannelSettings
from murmura.core.errors import SettingError
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.protections.sum_protocol import AbortedSumError
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import FederatedMethod
from murmura.server.coordinator.setup import configured
from murmura.testing import crowd
from murmura.wire.refusals import RefusedError
from tests.http.wire_world import terms


def plan(channel: str) -> Plan:
    settings = ChannelSettings(channel=channel, minimum_cohort=1)  # type: ignore[arg-type]
    return Plan(FPL(factors=3), crowd(), Schedule(clients="all", rounds=3), channel=settings)


def trained(channel: str, drop_out: float = 0.0) -> FederatedModel:
    return fit(plan(channel), runtime=InProcess(path="plain", drop_out=drop_out))


@pytest.mark.parametrize("channel", SUM_PROTOCOLS)
def test_the_model_is_that_of_two_aggregators_to_the_bit(channel: str) -> None:
    if channel == "ckks":
        pytest.importorskip("tenseal")
    expected, found = trained("secure-sum"), trained(channel)
    assert found.model.keys() == expected.model.keys()
    assert all((found.model[name] == expected.model[name]).all() for name in expected.model)
    assert all((found.states[name] == expected.states[name]).all() for name in expected.states)
    more = found.ledger.totals["bytes_up"] - expected.ledger.totals["bytes_up"]
    assert more > 0
    assert "simulation only" in found.ledger.channel


def test_devices_that_are_lost_are_not_in_the_sum_and_too_many_leave_the_model_as_it_was() -> None:
    whole, fewer, none = trained("masks"), trained("masks", 0.2), trained("masks", 0.9)
    first = none.plan.algorithm.server_init(none.plan.info, Rng(none.plan.server_secret)).model
    for name in first:
        assert np.isfinite(fewer.model[name]).all()
        assert (fewer.model[name] != whole.model[name]).any()
        assert (fewer.model[name] != first[name]).any()
        assert (none.model[name] == first[name]).all()
    assert fewer.ledger.totals["visits"] == 3 * 11  # of twelve one was lost before its upload, one after it


def test_an_exchange_that_others_follow_is_not_passed_over() -> None:
    method = algorithm("fed-ease")(channel="masks", minimum_cohort=1, least=1)
    with pytest.raises(AbortedSumError, match="the model stays"):
        FederatedMethod(method, InProcess(drop_out=0.9)).fit(crowd())


def test_exact_sums_through_masks_are_those_of_two_aggregators() -> None:
    models = [
        FederatedMethod(algorithm("fed-ease")(channel=channel, minimum_cohort=1, least=1)).fit(crowd()).model
        for channel in ("secure-sum", "masks", "shares")
    ]
    for model in models[1:]:
        assert all((model[name] == models[0][name]).all() for name in models[0])


@pytest.mark.parametrize("channel", SUM_PROTOCOLS + MECHANISMS)
def test_a_real_federation_takes_none_of_them(channel: str) -> None:
    with pytest.raises(SettingError, match="secure sum"):
        configured("cfpl", {"channel": channel}, "secure-sum")


@pytest.mark.parametrize("channel", SUM_PROTOCOLS + MECHANISMS)
def test_a_device_refuses_terms_with_one_of_them(channel: str) -> None:
    epsilon = {"epsilon": 4.0} if channel in MECHANISMS else {}
    asked = replace(terms(), channel={**terms().channel, "channel": channel, **epsilon})
    with pytest.raises(RefusedError, match="a real federation is a secure sum"):
        _ = asked.channel_settings
