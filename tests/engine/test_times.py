"""When a client had what it has: every way to a history brings the same times, and none of them leaves."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from murmura.channel.consent_draws import ConsentChoices
from murmura.core.arrays import Ints
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.contract import ClientState, FederationInfo, History, RoundContext, Samples
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, client_secrets
from murmura.core.settings import settings
from murmura.core.update import Update
from murmura.device.simulated import rows_of_devices
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.runtimes.simulation import simulate
from murmura.server.loopback import Loopback
from murmura.testing.checks import assert_same_bits
from murmura.testing.data import crowd, labelled
from tests.channel.exact_counts import ExactCounts

SECURE = ChannelSettings(channel="secure-sum", minimum_cohort=1)


@settings
class LatestHalf(ExactCounts):
    """Counts what is in the later half of each history; ranks the item last had first."""

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        assert history.time is not None
        return {"newest": np.array([history.time.max(initial=0)])}

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        assert history.time is not None
        return super().client_step(context, state, history.rows(latest_half(history)), rng)

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Any:
        scores = np.zeros((len(history.people) or 1, context.info.items))
        if history.time is not None:
            scores[:, history.item] = history.time
        return scores


def latest_half(history: History) -> Any:
    assert history.time is not None
    return history.time > np.median(history.time) if len(history) else np.zeros(0, np.bool_)


def known(data: Interactions) -> dict[tuple[int, int], int]:
    assert data.time is not None
    return {(u, i): t for u, i, t in zip(data.user.tolist(), data.item.tolist(), data.time.tolist())}


def shuffled(data: Interactions) -> Interactions:
    return data.rows(np.random.default_rng(4).permutation(len(data)))


def population(data: Interactions, groups: Ints | None = None) -> Callable[[int], History]:
    secrets = client_secrets(1, data.n_users)
    people = ConsentChoices.of(Consent(pi=0.5), data, secrets).population(data, secrets)
    if groups is not None:
        people = people.grouped(groups, secrets[: groups.max() + 1])
    return lambda client: people.history(client, 0)


def devices(data: Interactions, groups: Ints | None = None) -> Callable[[int], History]:
    return rows_of_devices(data, groups, np.arange(data.n_items, dtype=np.int32))


def guests(data: Interactions, groups: Ints | None = None) -> Callable[[int], History]:
    return lambda user: History.of(data, user)


@pytest.mark.parametrize("way", [population, devices, guests])
def test_every_row_has_its_own_time(way: Callable[..., Callable[[int], History]]) -> None:
    data = shuffled(crowd())
    of, times = way(data), known(data)
    for user in range(data.n_users):
        history = of(user)
        assert history.time is not None
        assert history.time.tolist() == [times[user, item] for item in history.item.tolist()]
        kept = history.item % 2 == 0
        assert (history.rows(kept).time == history.time[kept]).all()
    assert way(replace(data, time=None))(1).time is None
    assert way(replace(data, time=None))(1).rows(np.ones(20, np.bool_)).time is None


@pytest.mark.parametrize("way", [population, devices])
def test_the_people_of_a_group_keep_theirs(way: Callable[..., Callable[[int], History]]) -> None:
    data = shuffled(crowd(9))
    groups = np.array([0, 1, 2, 0, 1, 2, 0, -1, 2], np.int32)
    of, times = way(data, groups), known(data)
    for client in range(3):
        members, history = np.flatnonzero(groups == client), of(client)
        assert history.person is not None
        assert history.time is not None
        rows = zip(members[history.person].tolist(), history.item.tolist())
        assert history.time.tolist() == [times[row] for row in rows]


def test_samples_keep_theirs_beside_inputs_and_qualities() -> None:
    data = labelled()
    data = replace(data, time=np.arange(len(data)))
    for way in (population, devices):
        own = way(data)(1)
        assert isinstance(own, Samples)
        keep = np.arange(len(own)) % 3 == 1
        some = own.rows(keep)
        assert some.time is not None
        assert own.time is not None
        assert own.quality is not None
        assert (some.time == own.time[keep]).all()
        assert (some.inputs == own.inputs[keep]).all()
        assert (some.quality == own.quality[keep]).all()


def trained(data: Interactions, runtime: Any, groups: Ints | None = None) -> FederatedModel:
    return fit(Plan(LatestHalf(part=1.0), data, seed=3, groups=groups, channel=SECURE), runtime=runtime)


@pytest.mark.slow
def test_a_method_that_asks_for_times_gets_them_in_process_and_on_devices() -> None:
    data = shuffled(crowd())
    ours = trained(data, InProcess())
    assert_same_bits(ours.model, trained(data, Loopback(arrival=2)).model, "the model on devices")
    late = [History.of(data, user) for user in range(data.n_users)]
    expected = np.bincount(np.concatenate([own.item[latest_half(own)] for own in late]), minlength=data.n_items)
    assert (ours.model["counts"][:, 0] == expected).all()
    assert data.time is not None
    assert ours.states["newest"][1, 0] == data.time[data.user == 1].max()


def test_whoever_is_asked_for_is_ranked_with_her_times() -> None:
    data = crowd()
    groups = np.arange(12, dtype=np.int32)
    groups[10:] = -1  # guests, whose rows are known
    fitted = trained(data, InProcess(), groups=groups)
    times = known(data)
    for user in (3, 10, 11):
        scores = fitted.score(np.array([user], np.int32))[0]
        own = data.by_user.of(user)
        assert scores[own].tolist() == [times[user, item] for item in own.tolist()]
    guest = fitted.score_history(np.array([7, 2, 7, 5], np.int32), np.array([30, 20, 40, 10]))
    assert guest[[2, 5, 7]].tolist() == [20, 10, 40]  # an item counts at its latest time
    with pytest.raises(DataError, match="one time for each of the 2 items, but there are 1"):
        fitted.score_history(np.array([7, 2], np.int32), np.array([30]))


def test_times_never_leave_a_device() -> None:
    """What crosses the wire and what stays are the same bits whatever the times are."""
    data = crowd()
    settings = {"factors": 4, "epochs": 1, "clients": 0.5, "channel": "secure-sum", "minimum_cohort": 1}
    ours, others = (simulate("cfpl", one, settings) for one in (data, replace(data, time=None)))
    assert_same_bits(ours.model, others.model, "the model")
    assert_same_bits(ours.states, others.states, "the states")
    assert ours.ledger.totals == others.ledger.totals
