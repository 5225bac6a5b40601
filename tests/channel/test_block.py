"""The promise of a stretch, over anything that can happen to a device: sticky's own, and that it is one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.channel.consent_draws import (
    ConsentChoices,
    StickyRecord,
    client_consent,
    extend_block,
    extend_record,
    sticky_consent,
)
from murmura.core.channel import ChannelSettings
from murmura.core.consent import Consent
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import client_secrets
from murmura.core.schedule import Schedule
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.server.loopback import Loopback
from murmura.testing import crowd
from murmura.testing.checks import assert_same_bits, assert_same_ledger
from tests.channel.exact_counts import ExactCounts
from tests.channel.sticky_device import SECRET, StickyDevice, in_order
from tests.hypothesis_profiles import examples

Extend = Callable[[StickyRecord, list[int], float, Any], StickyRecord]


class Device(StickyDevice):
    """What joins stands beside what has joined."""

    def extended(self, record: StickyRecord, pi: float) -> StickyRecord:
        return extend_block(record, in_order(self.times), pi, SECRET)

    def check_joined(self, new: list[int], before: StickyRecord, room: int) -> None:
        """What joins stands beside the stretch, or is one; nothing that could join instead stands nearer."""
        ordered = in_order(self.times)
        free = [one for one in ordered if one not in before.excluded]
        held = [place for place, one in enumerate(ordered) if one in before.joined]
        if not held:
            assert len(new) == min(room, len(free))
            assert any(free[k : k + len(new)] == new for k in range(len(free) - len(new) + 1))
            return
        later = [one for one in ordered[held[-1] + 1 :] if one in free]
        earlier = [one for one in ordered[: held[0]] if one in free]
        assert len(new) == min(room, len(later) + len(earlier))
        after = [one for one in new if one in later]
        prior = [one for one in new if one in earlier]
        assert after + prior == new
        assert after == later[: len(after)]
        assert prior[::-1] == earlier[len(earlier) - len(prior) :]
        assert not prior or after == later  # to the later side first


Device.TestCase.settings = examples(1.2, stateful_step_count=30)
TestDevice = Device.TestCase


@examples(0.5)
@given(st.lists(st.integers(0, 100), min_size=1, max_size=12), st.integers(0, 2**31))
def test_of_a_history_that_only_grows_the_shared_set_is_one_stretch(percents: list[int], seed: int) -> None:
    """New items at its end, pi up and down: what may be sent now is contiguous at every moment."""
    rng, record, n = np.random.default_rng(seed), StickyRecord(), 0
    for percent in percents:
        n += int(rng.integers(0, 6))
        record = extend_block(record, list(range(n)), percent / 100, SECRET)
        shared = np.flatnonzero(sticky_consent(record, np.arange(n, dtype=np.int32), percent / 100))
        assert len(shared) == percent * n // 100
        assert len(shared) == 0 or shared[-1] - shared[0] == len(shared) - 1


def test_a_uniform_draw_would_be_found_out() -> None:
    shared = extend_record(StickyRecord(), range(50), 0.2, SECRET).joined
    assert max(shared) - min(shared) > len(shared) - 1


def ever_sent(extend: Extend, keep: bool) -> int:
    """Sixty times a person trains while two items come and one of the shared goes; a fifth is her limit."""
    record, times, ever = StickyRecord(), dict(zip(range(100), range(100))), set[int]()
    for step in range(60):
        gone = next((one for one in record.joined if one in times), None)
        times = {one: when for one, when in times.items() if one != gone or step % 2}
        times |= {1000 + 2 * step + k: 1000 + step for k in range(2)}
        record = extend(record if keep else StickyRecord(), in_order(times), 0.2, SECRET)
        own = np.array(sorted(times), np.int32)
        ever |= set(own[sticky_consent(record, own, 0.2) > 0].tolist())
    return len(ever)


def test_a_device_that_draws_anew_shows_more_than_its_limit() -> None:
    """The attack is waiting: who keeps no record gives away more and more; who keeps it stays in the limit."""
    largest = int(0.2 * (100 + 2 * 60))
    assert ever_sent(extend_block, keep=True) <= largest
    assert ever_sent(extend_block, keep=False) > largest


def test_lowering_and_raising_pi_brings_the_same_items_back() -> None:
    items, own = list(range(50)), np.arange(50, dtype=np.int32)
    record = extend_block(StickyRecord(), items, 0.6, SECRET)
    high = sticky_consent(record, own, 0.6)
    low = sticky_consent(extend_block(record, items, 0.2, SECRET), own, 0.2)
    assert low.sum() == 10
    assert (low <= high).all()
    assert np.ptp(np.flatnonzero(low)) == 9
    assert (sticky_consent(extend_block(record, items, 0.6, SECRET), own, 0.6) == high).all()


def test_an_excluded_item_is_not_replaced_by_another() -> None:
    items, own = list(range(20)), np.arange(20, dtype=np.int32)
    record = extend_block(StickyRecord(), items, 0.5, SECRET)
    gone = record.joined[3]
    later = extend_block(replace(record, excluded=(gone,)), items, 0.5, SECRET)
    assert later.joined == record.joined
    assert sticky_consent(later, own, 0.5).sum() == 9
    assert sticky_consent(replace(later, excluded=()), own, 0.5).sum() == 10


def test_what_is_excluded_beforehand_is_passed_over_and_stays_out() -> None:
    items = list(range(10))
    record = extend_block(StickyRecord(excluded=(4, 5)), items, 0.8, SECRET)
    assert record.joined == (0, 1, 2, 3, 6, 7, 8, 9)  # all eight that are allowed, the only stretch there is
    again = extend_block(replace(record, excluded=()), items, 1.0, SECRET)
    assert again.joined == record.joined  # they lie inside the stretch, not at its ends


def test_ties_go_by_item_and_an_item_of_a_household_counts_at_its_first_time() -> None:
    items = np.array([3, 1, 2, 0, 3], np.int32)
    time = np.array([7, 7, 7, 1, 0])
    whole, _ = client_consent("block", StickyRecord(), items, 1.0, SECRET, 0, time)
    assert whole.tolist() == [1.0] * 5
    _, record = client_consent("block", StickyRecord(), items, 1.0, SECRET, 0, time)
    assert record.joined == (3, 0, 1, 2)


@pytest.mark.parametrize(("n", "pi"), [(12, 0.25), (7, 0.5)])
def test_every_beginning_is_equally_likely(n: int, pi: float) -> None:
    secrets, size = client_secrets(3, 3000), int(n * pi)
    begins = np.zeros(n - size + 1)
    for secret in secrets:
        begins[extend_block(StickyRecord(), list(range(n)), pi, secret).joined[0]] += 1
    part = 1 / len(begins)
    assert np.abs(begins - 3000 * part).max() < 4 * np.sqrt(3000 * part * (1 - part))


@pytest.mark.parametrize("pi", [0.0, 0.3, 0.77, 1.0])
def test_the_compiled_draw_of_everyone_is_the_draw_of_each(pi: float) -> None:
    data = crowd(40, 25).rows(np.random.default_rng(3).permutation(len(crowd(40, 25))))
    secrets = client_secrets(8, 40)
    never = np.random.default_rng(0).random(len(data)) < 0.15
    consent = Consent(pi=pi, disclosure="block")
    people = ConsentChoices.of(consent, data, secrets, never=never).population(data, secrets)
    assert data.time is not None
    for u in range(40):
        mine = data.user == u
        times = dict(zip(data.item[mine].tolist(), data.time[mine].tolist()))
        barred = data.item[never & mine].tolist()
        record = extend_block(StickyRecord(excluded=tuple(barred)), in_order(times), pi, secrets[u])
        expected = sticky_consent(record, data.by_user.of(u), pi).tolist()
        assert people.history(u, 3).consent.tolist() == expected
        assert people.history(u, 9).consent.tolist() == expected


def test_people_of_one_federation_may_choose_different_fractions() -> None:
    data, secrets = crowd(40, 25), client_secrets(8, 40)
    pi = np.linspace(0, 1, 40)
    people = ConsentChoices.of(Consent(disclosure="block"), data, secrets, pi=pi).population(data, secrets)
    for u in range(40):
        own = people.history(u, 0)
        assert own.time is not None
        assert own.consent.sum() == np.floor(pi[u] * len(own) + 1e-9)
        shared = np.flatnonzero(own.consent[np.lexsort((own.item, own.time))])
        assert len(shared) == 0 or np.ptp(shared) == len(shared) - 1


def without_times() -> Interactions:
    return replace(crowd(), time=None)


def test_without_times_there_is_one_sentence() -> None:
    secrets, sentence = (
        client_secrets(1, 12),
        "disclosure 'block' needs a time for every row, but there are none",
    )
    with pytest.raises(DataError, match=sentence):
        ConsentChoices.of(Consent(disclosure="block"), without_times(), secrets)
    with pytest.raises(DataError, match=sentence):
        client_consent("block", StickyRecord(), np.arange(3, dtype=np.int32), 0.5, SECRET, 0)
    with pytest.raises(SettingError, match="must be 'sticky' where people hide by 'newest'"):
        Consent(disclosure="block", hides="newest")


def test_devices_share_what_the_simulation_shares() -> None:
    consent, way = Consent(pi=0.4, disclosure="block"), ChannelSettings(channel="secure-sum", minimum_cohort=1)
    plan = Plan(ExactCounts(), crowd(), Schedule(rounds=2), consent, seed=5, channel=way)
    ours, theirs = (fit(plan, runtime=runtime) for runtime in (InProcess(), Loopback(arrival=1)))
    assert int(ours.model["counts"][:, 0].sum()) == int(plan.people.consent.sum())
    assert_same_bits(ours.model, theirs.model, "the model on devices")
    assert_same_ledger(ours.ledger, theirs.ledger)
