"""The sticky promise, over anything that can happen to a device."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.channel.consent_draws import ConsentChoices, StickyRecord, extend_record, sticky_consent
from murmura.core.consent import Consent, sticky_limit
from murmura.core.rng import client_secrets
from murmura.testing import crowd
from tests.channel.sticky_device import SECRET, StickyDevice
from tests.hypothesis_profiles import examples


class Device(StickyDevice):
    """What joins is drawn among all that is undecided."""

    def extended(self, record: StickyRecord, pi: float) -> StickyRecord:
        return extend_record(record, set(self.times), pi, SECRET)

    def check_joined(self, new: list[int], before: StickyRecord, room: int) -> None:
        """Raising pi adds, as far as there are undecided items."""
        undecided = set(self.times) - set(before.joined) - set(before.excluded)
        assert len(new) == min(room, len(undecided))


Device.TestCase.settings = examples(1.2, stateful_step_count=30)
TestDevice = Device.TestCase


@given(st.integers(0, 1000), st.integers(0, 3000))
def test_the_limit_is_the_exact_floor(thousandths: int, n: int) -> None:
    assert sticky_limit(thousandths / 1000, n) == thousandths * n // 1000


def test_lowering_and_raising_pi_brings_the_same_items_back() -> None:
    items = np.arange(50, dtype=np.int32)
    record = extend_record(StickyRecord(), items.tolist(), 0.6, SECRET)
    high = sticky_consent(record, items, 0.6)
    low = sticky_consent(extend_record(record, items.tolist(), 0.2, SECRET), items, 0.2)
    assert low.sum() == 10
    assert (low <= high).all()
    assert (sticky_consent(extend_record(record, items.tolist(), 0.6, SECRET), items, 0.6) == high).all()


def test_an_excluded_item_is_not_replaced_by_another() -> None:
    items = np.arange(20, dtype=np.int32)
    record = extend_record(StickyRecord(), items.tolist(), 0.5, SECRET)
    gone = record.joined[3]
    later = extend_record(replace(record, excluded=(gone,)), items.tolist(), 0.5, SECRET)
    assert later.joined == record.joined
    assert sticky_consent(later, items, 0.5).sum() == 9
    assert sticky_consent(replace(later, excluded=()), items, 0.5).sum() == 10


def test_every_item_is_equally_likely_to_join() -> None:
    secrets, n, pi = client_secrets(3, 3000), 12, 0.25
    joined = np.zeros(n)
    for secret in secrets:
        joined[list(extend_record(StickyRecord(), range(n), pi, secret).joined)] += 1
    expected, spread = 3000 * pi, np.sqrt(3000 * pi * (1 - pi))
    assert np.abs(joined - expected).max() < 4 * spread


@pytest.mark.parametrize("pi", [0.0, 0.3, 0.77, 1.0])
def test_the_compiled_draw_of_everyone_is_the_draw_of_each(pi: float) -> None:
    data = crowd(40, 25)
    secrets = client_secrets(8, 40)
    never = np.random.default_rng(0).random(len(data)) < 0.15
    people = ConsentChoices.of(Consent(pi=pi), data, secrets, never=never).population(data, secrets)
    for u in range(40):
        own = data.by_user.of(u)
        barred = data.item[never & (data.user == u)].tolist()
        record = extend_record(StickyRecord(excluded=tuple(barred)), own.tolist(), pi, secrets[u])
        assert people.history(u, 3).consent.tolist() == sticky_consent(record, own, pi).tolist()
