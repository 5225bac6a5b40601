"""The order that adapts itself: it finds the better one on a signal that is a sum, and draws nothing."""

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from murmura.aggregation.priority import EXPLOIT_FACTOR, OrderTrials, orders
from murmura.aggregation.weighted import weighted
from murmura.aggregation.weighting import Weighting
from murmura.core.channel import ChannelSettings
from murmura.core.contract import (
    Algorithm,
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng
from murmura.core.schedule import Schedule
from murmura.core.settings import settings
from murmura.core.update import SparseRows, Update
from murmura.engine.federated_model import FederatedModel
from murmura.runtimes.inprocess import InProcess
from tests.aggregation.worlds import method, trained

PLACE = np.zeros(1, np.int32)


@settings
class Climber(Algorithm):
    """One number to be raised: clients with knowledge raise it, the others hold it back."""

    name: ClassVar[str] = "climber"
    pace: float = 0.05

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        return (Phase("train", MessageSpec((TableSpec("height", "dense", 1, 1, "float64"),))),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        return MessageSpec((TableSpec("height", "dense", 1, 1, "float64"),))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        return ServerState({"height": np.full((1, 1), 0.2)})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        return {}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        left = 1 - context.model["height"]
        return state, Update({"height": SparseRows(PLACE, self.pace * history.attributes["knows"] * left)})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        assert isinstance(received, Total)
        moved = server.model["height"] + received.update.tables["height"].values / received.count
        return ServerState({"height": np.clip(moved, 0, 1)}), {}

    def client_quality(
        self, context: RoundContext, state: ClientState, history: History
    ) -> tuple[float, float] | None:
        return float(context.model["height"][0, 0]) * len(history), float(len(history))


def world(better: int) -> Interactions:
    """Six clients, two of whom know; attribute number `better` is what they have more of."""
    knows = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    others = np.array([0.2, 0.3, 0.9, 0.8, 0.9, 1.0])
    columns = dict.fromkeys("abc", others) | {"abc"[better]: 0.9 * knows + 0.05}
    data = Interactions.of(np.arange(6), np.arange(6))
    return Interactions(
        data.users, data.items, data.user, data.item, data.value, attributes={**columns, "knows": knows}
    )


def climbed(better: int, way: str, rounds: int, adapt: bool = True, channel: str = "none") -> FederatedModel:
    weighting = Weighting(
        criteria=("attribute:a", "attribute:b", "attribute:c"),
        criteria_sent=way,  # type: ignore[arg-type]
        adapt_order=adapt,
    )
    through = ChannelSettings(channel=channel, minimum_cohort=1, bits=24)  # type: ignore[arg-type]
    schedule = Schedule(clients="all", rounds=rounds)
    return trained(weighted(Climber(), weighting), world(better), schedule, through, InProcess())


@pytest.mark.parametrize("better", [0, 1, 2])
def test_the_criterion_that_helps_comes_first_whatever_the_configured_order(better: int) -> None:
    rounds = 2 * 6 + 4  # all six orders there and back, and some of those that are kept
    by_sums, by_values = (climbed(better, way, rounds) for way in ("sums", "values"))
    for fitted in (by_sums, by_values):
        assert fitted.cost()[f"priority of attribute:{'abc'[better]}"] == 1
    np.testing.assert_allclose(by_sums.model["height"], by_values.model["height"], rtol=1e-12)
    secret = climbed(better, "sums", rounds, channel="secure-sum")
    assert secret.cost()[f"priority of attribute:{'abc'[better]}"] == 1
    assert "quality" in secret.records()["ledger.json"]["reveals"]
    if better:
        fixed = climbed(better, "sums", 60, adapt=False)
        assert climbed(better, "sums", 60).model["height"] > fixed.model["height"]


@given(
    st.lists(st.floats(-0.5, 0.5), min_size=6, max_size=6, unique_by=lambda gain: round(gain, 2)),
    st.floats(-0.01, 0.01),
)
@hypothesis_settings(max_examples=50)
def test_a_trend_of_time_does_not_decide(gains: list[float], trend: float) -> None:
    """What each order gains, and what every round gains more than the one before it: the best order is kept."""
    trials, level = OrderTrials.first(3), 0.0
    for round in range(2 * 6 + 1):
        quality = 1 - np.exp(-10 - level)  # the signal saturates; a gain is a part of what is left
        trials = trials.decided(float(np.clip(quality, 0, 1)))
        level += 0.1 * (gains[trials.order] + 0.5 + trend * round)
    means = trials.gains / trials.tries
    assert (trials.tries == 2).all()
    ordered = np.argsort(gains)
    if abs(gains[ordered[-1]] - gains[ordered[-2]]) > 0.1:
        assert trials.order == ordered[-1] == np.argmax(means)


def test_orders_are_tried_again_after_a_while() -> None:
    trials, used = OrderTrials.first(2), []
    for _ in range(2 * (1 + EXPLOIT_FACTOR) * 2 + 4):
        trials = trials.decided(0.5)
        used.append(trials.order)
    cycle = (1 + EXPLOIT_FACTOR) * 4
    assert used[:4] == [0, 1, 1, 0] == used[cycle : cycle + 4]
    assert orders(2) == [(0, 1), (1, 0)]
    again = OrderTrials.read(trials.array())
    assert (again.order, again.rounds, again.quality) == (trials.order, trials.rounds, 0.5)


def test_an_order_that_cannot_adapt_is_refused() -> None:
    with pytest.raises(SettingError, match="fcf has no client_quality; leave it out"):
        method("fcf", criteria="dataset_size,long_tail", adapt_order=True)
    for values in ({"criteria": "trust"}, {"criteria": "trust,capability", "score": "mean"}):
        with pytest.raises(SettingError, match="2 to 4 criteria and score 'prioritised'"):
            method("fcf", adapt_order=True, **values)


def test_a_secure_sum_and_values_that_are_read_do_not_go_together() -> None:
    with pytest.raises(SettingError, match="criteria_sent must be 'sums' for channel 'secure-sum'"):
        method("fcf", criteria="trust", criteria_sent="values", channel="secure-sum")
