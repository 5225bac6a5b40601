"""Randomised response of shared sets: the truth as often as epsilon allows, estimates right on average."""

import math

import numpy as np
import pytest

from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.schedule import Schedule
from murmura.core.update import SentUpdate
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.lab.protections.local_privacy import RandomizedSets
from murmura.lab.protections.mechanisms import truth_probability
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

ONCE = Schedule(clients="all", rounds_per_epoch=1, epochs=1)
PEOPLE, ITEMS = 400, 60


def trained(
    epsilon: float, seed: int = 0, consent: Consent | None = None
) -> tuple[FederatedModel, list[SentUpdate]]:
    seen: list[SentUpdate] = []
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=1)
    plan = Plan(
        RandomizedSets(item_epsilon=epsilon),
        crowd(PEOPLE, ITEMS),
        ONCE,
        consent or Consent(),
        seed=seed,
        channel=channel,
    )
    return fit(plan, runtime=InProcess(), record=seen.append), seen


def test_bits_are_told_as_the_mechanism_says() -> None:
    """Among those who have an item and those who have not, the odds of a yes differ by e^epsilon."""
    model, seen = trained(1.2)
    has = np.zeros((PEOPLE, ITEMS), np.bool_)
    data = model.plan.data
    has[data.user, data.item] = True
    told = np.zeros_like(has)
    for one in seen:
        told[one.client, one.update.tables["told"].index] = True
    truth = truth_probability(1.2)
    assert abs((told == has).mean() - truth) < 5 * math.sqrt(truth * (1 - truth) / has.size)
    assert math.log(told[has].mean() / told[~has].mean()) == pytest.approx(1.2, abs=0.1)
    assert math.log(told[has].mean() / told[~has].mean()) < math.log(truth / (1 - truth)) + 0.1


def test_counts_are_right_on_average_and_what_was_told_is_not() -> None:
    found = np.mean([trained(1.0, seed)[0].model["counts"][:, 0] for seed in range(4)], axis=0)
    data, truth = crowd(PEOPLE, ITEMS), truth_probability(1.0)
    error = math.sqrt(PEOPLE * truth * (1 - truth) / 4) / (2 * truth - 1)
    away = np.abs(found - data.item_counts)
    assert away.max() < 5 * error
    told = found * (2 * truth - 1) + PEOPLE * (1 - truth)
    assert np.abs(told - data.item_counts).max() > 5 * error


def test_a_large_epsilon_tells_the_truth() -> None:
    model, _ = trained(40.0)
    np.testing.assert_allclose(model.model["counts"][:, 0], crowd(PEOPLE, ITEMS).item_counts, atol=1e-3)


def test_what_is_not_shared_is_never_told() -> None:
    model, seen = trained(0.2, consent=Consent(pi=0.5))
    kept_back = 0
    for one in seen:
        history = model.plan.people.history(one.client, one.round)
        secret = history.item[history.consent == 0]
        kept_back += len(secret)
        assert not np.isin(secret, one.update.tables["told"].index).any()
    assert kept_back > PEOPLE
