"""Sharing statistics is a consent of its own: who refuses is in no count, on either path."""

from typing import Literal

import numpy as np
import pytest

from murmura.algorithms.fpl.fpl import FPL
from murmura.channel.consent_draws import ConsentChoices
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent, Permission
from murmura.core.contract import FederationInfo
from murmura.core.errors import SettingError
from murmura.core.rng import client_secrets
from murmura.core.schedule import Schedule
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing.checks import assert_same_ledger
from murmura.testing.data import crowd

DATA = crowd(30, 20)
COUNTED = np.arange(30) % 3 == 0


def train(path: Literal["plain", "kernel"], counted: object = COUNTED, on: bool = False) -> FederatedModel:
    choices = ConsentChoices.of(Consent(), DATA, client_secrets(0, 30), statistics=np.asarray(counted))
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=1) if on else None
    schedule = Schedule(clients=8, rounds=1)
    method = FPL(prior=True, precision="float64", triples="own")
    return fit(
        Plan(method, DATA, schedule, consent=choices, channel=channel or ChannelSettings()),
        runtime=InProcess(path=path),
    )


@pytest.mark.parametrize("on", [False, True])
def test_only_those_who_allow_it_are_counted(on: bool) -> None:
    plain, compiled = train("plain", on=on), train("kernel", on=on)
    assert_same_ledger(plain.ledger, compiled.ledger)
    assert plain.ledger.lines[0].visits == COUNTED.sum()
    assert np.allclose(plain.model["b"], compiled.model["b"], atol=1e-12)
    refused = train("plain", np.ones(30, np.bool_), on=on)
    assert not np.allclose(plain.model["b"], refused.model["b"])


def test_the_share_of_a_simulation_is_drawn_by_everyone_for_herself() -> None:
    secrets = client_secrets(3, 4000)
    many = crowd(4000, 20)
    drawn = ConsentChoices.of(Consent(statistics=0.3), many, secrets).statistics.mean()
    assert abs(drawn - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 4000)
    assert ConsentChoices.of(Consent(), many, secrets).statistics.all()


def test_nobody_to_count_is_refused() -> None:
    with pytest.raises(SettingError, match="nobody does"):
        train("plain", np.zeros(30, np.bool_))
    with pytest.raises(SettingError, match="minimum cohort"):
        ChannelSettings(channel="secure-sum").check_cohort(99)


def test_a_permission_answers_each_kind_of_phase() -> None:
    phases = FPL(prior=True).phases(FederationInfo.of(DATA))
    assert [phase.asks for phase in phases] == ["statistics", "training"]
    closed = Permission(statistics=False)
    assert [closed.permits(phase.asks) for phase in phases] == [False, True]
    assert [Permission(train=False).permits(phase.asks) for phase in phases] == [True, False]
