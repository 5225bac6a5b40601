"""How often the aggregators are asked."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from murmura.server.coordinator.open_round import PollingInterval


class _Manifest:
    opened, hold, deadline, called = 100.0, 5.0, 160.0, 2


class _Round:
    manifest, published, individual_reports = _Manifest(), True, None
    tickets: ClassVar = {0: b"", 1: b""}


TICK = 0.125  # exact in binary


def asked(live: Any, until: float) -> list[float]:
    now, found = 100.0, []
    pace = PollingInterval(lambda: now)
    while now < until:
        if pace.due(live):
            found.append(now)
        now += TICK
    return found


def test_an_aggregator_is_asked_once_a_second_in_a_long_round_and_at_once_in_a_short_one() -> None:
    times = asked(_Round(), 160)
    assert times[0] == 105  # nobody has sent before
    late = [b - a for a, b in pairwise(times) if a > 115]
    assert min(late) == max(late) == 1
    for before, after in pairwise(times):
        assert after - before <= TICK + 0.1 * (after - 105)
    assert len(times) < 90


def test_it_is_asked_every_five_seconds_while_it_cannot_be_complete() -> None:
    times = asked(_Unfinished(), 160)
    assert times[0] == 105
    assert {after - before for before, after in pairwise(times)} == {5.0}
    assert asked(_Unfinished(), 170)[-1] == asked(_Round(), 170)[-1]  # whatever is missing, it ends in time


def test_what_does_not_wait_for_reports_never_waits() -> None:
    assert len(asked(None, 110)) == len(asked(_Waiting(), 110)) == len(asked(_Readable(), 110)) == 80
    assert len(asked(_Round(), 170)) >= len(asked(_Round(), 160)) + 79  # after the deadline


class _Unfinished(_Round):
    tickets: ClassVar = {0: b""}


class _Waiting(_Round):
    published = False


class _Readable(_Round):
    individual_reports: Any = ()
