"""A device whose owner does anything there is to do, and what every sticky way of disclosure promises her."""

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from murmura.channel.consent_draws import StickyRecord, sticky_consent
from murmura.core.rng import client_secrets

SECRET = client_secrets(11, 1)[0]
item, moment = st.integers(0, 40), st.integers(0, 30)


def in_order(times: dict[int, int]) -> list[int]:
    return sorted(times, key=lambda one: (times[one], one))


class StickyDevice(RuleBasedStateMachine):
    """Ever disclosed <= max over s <= t of floor(pi_s * n_s): rounds, restarts, changes of pi, growth."""

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[int, int] = {}
        self.percent = 100
        self.record = StickyRecord()
        self.ever: set[int] = set()
        self.most = 0

    def extended(self, record: StickyRecord, pi: float) -> StickyRecord:
        """The record after items have joined, in the way that is tried."""
        raise NotImplementedError

    def check_joined(self, new: list[int], before: StickyRecord, room: int) -> None:
        """What this way says of items that join where there is room for some."""
        raise NotImplementedError

    @rule(percent=st.integers(0, 100))
    def change_pi(self, percent: int) -> None:
        self.percent = percent

    @rule(rows=st.dictionaries(item, moment, max_size=6))
    def grow(self, rows: dict[int, int]) -> None:
        """Anywhere in the past; an item that is there already has another time from now on."""
        self.times |= rows

    @rule(items=st.sets(item, max_size=6))
    def have_now(self, items: set[int]) -> None:
        now = max(self.times.values(), default=0) + 1
        self.times |= {one: now for one in items if one not in self.times}

    @rule(items=st.sets(item, max_size=3))
    def forget(self, items: set[int]) -> None:
        self.times = {one: when for one, when in self.times.items() if one not in items}

    @rule()
    def forget_what_was_shared(self) -> None:
        self.forget(set(self.record.joined))

    @rule(items=st.sets(item, max_size=3))
    def exclude(self, items: set[int]) -> None:
        self.record = replace(self.record, excluded=(*{*self.record.excluded, *items},))

    @rule(items=st.sets(item, max_size=3))
    def allow(self, items: set[int]) -> None:
        self.record = replace(self.record, excluded=(*{*self.record.excluded} - items,))

    @rule()
    def restart(self) -> None:
        kept: dict[str, Any] = json.loads(json.dumps(asdict(self.record)))
        self.record = StickyRecord(**{name: tuple(values) for name, values in kept.items()})

    @rule()
    def train(self) -> None:
        pi, before = self.percent / 100, self.record
        limit = self.percent * len(self.times) // 100  # floor(pi * n), exact
        self.most = max(self.most, limit)
        self.record = self.extended(before, pi)
        own = np.array(sorted(self.times), np.int32)
        share = sticky_consent(self.record, own, pi)
        sent = set(own[share > 0].tolist())
        self.ever |= sent
        assert set(share.tolist()) <= {0.0, 1.0}
        assert len(sent) <= limit
        assert not sent & set(self.record.excluded)
        assert sent <= set(self.times)
        assert self.record.joined[: len(before.joined)] == before.joined  # never re-rolls
        new = list(self.record.joined[len(before.joined) :])
        assert not set(new) & ({*before.joined, *before.excluded})
        if limit <= len(before.joined):
            assert not new  # lowering pi draws nothing
            assert sent <= set(before.joined)
        else:
            self.check_joined(new, before, limit - len(before.joined))

    @invariant()
    def holds(self) -> None:
        assert len(self.ever) <= self.most
        assert self.ever <= set(self.record.joined)
