"""In one release window an exchange of the opening is answered once: two sums would show who came between."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.algorithms import ALGORITHMS
from murmura.algorithms.preset import Preset
from murmura.core.channel import ChannelSettings
from murmura.core.errors import FederationError
from murmura.core.schedule import Schedule
from murmura.core.settings import as_dict
from murmura.device.device import Device, VisitOutcome
from murmura.device.storage import DeviceMemory
from murmura.server.admissions import AdmissionDesk
from murmura.server.aggregator.round_register import RoundRegister
from murmura.server.coordinator.setup import RoundTiming
from murmura.server.database import ServerDatabase, Statement
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import canonical
from murmura.wire.terms import CLOCKS_DIFFER, ReleaseWindows
from murmura.wire.transport import HttpReply
from tests.channel.exact_counts import ExactCounts
from tests.http.forgery import envelope
from tests.http.network import World, people

PRIOR: dict[str, object] = {"rounds": 1, "clients": "all"}  # counts of all, once, then training
DAY = 86400.0


def test_windows_are_numbered_from_their_start() -> None:
    windows = ReleaseWindows(1000.0, 50.0)
    assert [windows.at(time) for time in (0.0, 1000.0, 1049.9, 1050.0, 1125.0)] == [0, 0, 0, 1, 2]
    assert windows.ends(2) == 1150.0
    for_ever = ReleaseWindows(1000.0, 0)
    assert (for_ever.at(1e9), for_ever.ends(0), for_ever.is_at(0, 1e9), for_ever.is_at(1, 1e9)) == (
        0,
        math.inf,
        True,
        False,
    )


@pytest.mark.parametrize("seconds", [50.0, DAY])
def test_two_clocks_may_differ_a_little_and_no_more(seconds: float) -> None:
    windows, slack = ReleaseWindows(0.0, seconds), min(CLOCKS_DIFFER, seconds / 4)
    middle, border = 3.5 * seconds, 3 * seconds
    assert [windows.is_at(n, middle) for n in (2, 3, 4)] == [False, True, False]
    assert [windows.is_at(n, border + slack / 2) for n in (2, 3, 4)] == [True, True, False]
    assert [windows.is_at(n, border + 1.1 * slack) for n in (2, 3)] == [False, True]
    assert [windows.is_at(n, border - slack / 2) for n in (2, 3)] == [True, True]
    assert [windows.is_at(n, border - 1.1 * slack) for n in (2, 3)] == [True, False]


async def visits(devices: list[Device]) -> list[str]:
    return [(await device.visit()).kind for device in devices]


def test_an_exchange_that_failed_waits_for_the_next_window_and_then_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=PRIOR)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        assert await visits(devices[:9]) == ["sent"] * 9  # one too few
        world.clock.now += 61
        await world.turn()
        for _ in range(3):
            await world.turn()
            assert world.coordinator.rounds.live is None
        ends = world.coordinator.rounds.waits_until
        assert ends == world.coordinator.rounds.terms.windows.ends(0)
        assert world.coordinator.status()["waits_until"] == ends
        world.start_coordinator()  # it remembers
        await world.turn()
        world.clock.now = ends - 1
        await world.turn()
        assert world.coordinator.rounds.live is None
        world.clock.now = ends
        await world.turn()
        assert world.coordinator.rounds.live is not None
        assert world.coordinator.rounds.live.manifest.window == 1
        assert await visits(devices) == ["sent"] * 12
        await world.turn()
        await world.play(devices)

    asyncio.run(scenario())
    told = [(one["phase"], one["window"], one["state"]) for one in world.coordinator.history()[::-1]]
    assert told == [("prior", 0, "abandoned"), ("prior", 1, "committed"), ("train", 1, "committed")]


def test_a_training_round_waits_for_no_window(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings={**PRIOR, "prior": False})

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        await visits(devices[:9])
        world.clock.now += 61
        await world.turn()
        await world.play(devices)

    asyncio.run(scenario())
    assert [one["state"] for one in world.coordinator.history()] == ["committed", "abandoned"]
    assert {one["window"] for one in world.coordinator.history()} == {0}


def never_waits(world: World, patch: pytest.MonkeyPatch) -> None:
    """A coordinator that asks again in the same window."""
    patch.setattr(world.coordinator.rounds, "_waits", lambda: False)


@pytest.mark.parametrize("looks", [True, False])
def test_a_device_answers_once_in_a_window_whatever_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: bool
) -> None:
    """Asked again because the first sum failed, it declines; one that does not look sends a second time."""
    world = World(tmp_path, people(), settings=PRIOR)
    if not looks:
        monkeypatch.setattr(Device, "_unasked", lambda *_: None)

    async def scenario() -> list[str]:
        devices = await world.everyone()
        never_waits(world, monkeypatch)
        await world.turn()
        await visits(devices[:9])
        world.clock.now += 61
        await world.turn()
        await world.turn()
        return await visits(devices)

    declined = ["declined"] * 9 if looks else ["sent"] * 9
    assert asyncio.run(scenario()) == declined + ["sent"] * 3


@pytest.mark.parametrize("looks", [True, False])
def test_an_aggregator_releases_one_sum_in_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: bool
) -> None:
    """A coordinator that throws a released sum away gets no second one; without the check it is collected."""
    world = World(tmp_path, people(), settings=PRIOR)
    monkeypatch.setattr(Device, "_unasked", lambda *_: None)  # the devices would answer
    if not looks:
        monkeypatch.setattr(RoundRegister, "check_window", lambda *_: None)

    def thrown_away(*_: object) -> None:
        raise FederationError("the sum was thrown away.")

    async def scenario() -> None:
        devices = await world.everyone()
        never_waits(world, monkeypatch)
        with monkeypatch.context() as once:
            once.setattr(world.coordinator.rounds, "_commit", thrown_away)
            await world.one_round(devices)
        await world.one_round(devices[1:])
        world.clock.now += 61
        await world.turn()

    asyncio.run(scenario())
    first, second, *_ = world.coordinator.history()[::-1]
    assert (first["state"], first["reason"]) == ("abandoned", "the sum was thrown away.")
    if looks:
        assert second["state"] == "abandoned"
        assert "two sums would differ by the clients that joined in between" in second["reason"]
    else:
        assert (second["state"], second["reports"]) == ("committed", 11)


def test_a_manifest_of_another_window_is_refused_by_devices_and_aggregators(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=PRIOR)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        plain = {**json.loads(live.manifest.encode()), "window": 1}
        before = devices[0].storage.memory.log[0]
        with pytest.raises(RefusedError, match="window 1 must be that of the time") as refused:
            await devices[0].take_part(HttpReply(200, envelope(world, canonical(plain), before=before)))
        assert refused.value.code == "forged"
        manifest = replace(live.manifest, window=1)
        seed, phase = world.aggregators["seed"], world.setup.itinerary().setup[0]
        with pytest.raises(RefusedError, match="must lie in the window of its time, but says 1"):
            seed._rounds.check_window(seed.terms.windows, manifest, phase, world.clock.now)

    asyncio.run(scenario())


def test_what_was_answered_is_kept_for_its_window_alone() -> None:
    memory = DeviceMemory().answering("prior", 4).answering("pairs", 4).answering("pairs", 4)
    again = DeviceMemory.decode(memory.encode())
    assert [again.answers(*one) for one in (("prior", 4), ("pairs", 4), ("prior", 5), ("means", 4))] == [
        1,
        2,
        0,
        0,
    ]
    later = again.answering("pairs", 5)
    assert (later.answers("pairs", 5), later.answers("pairs", 4), later.answers("prior", 4)) == (1, 0, 1)


def test_the_only_window_there_is_never_ends(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=PRIOR, timing=RoundTiming(round=60, hold=0, spread=0, window=0))

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        await visits(devices[:3])
        world.clock.now += 61
        await world.turn()
        world.clock.now += 1000 * DAY
        await world.turn()

    asyncio.run(scenario())
    assert world.coordinator.rounds.waits_until == math.inf
    assert world.coordinator.status()["waits_until"] is None
    json.dumps(world.coordinator.status(), allow_nan=False)


COUNTS = Preset("exact-counts", ExactCounts, "", parts=(), fixed=Schedule(clients="all", rounds=1))


@pytest.mark.parametrize(("looks", "kind"), [(2, "declined"), (1, "not-called"), (0, "sent")])
def test_only_who_was_counted_takes_part_in_the_phase_that_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int, kind: str
) -> None:
    """Two devices miss the counts: they decline the pairs; to liars an aggregator says no, if it looks."""
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=4)

    async def scenario(world: World) -> list[VisitOutcome]:
        devices = await world.everyone()
        await world.turn()
        assert await visits(devices[2:]) == ["sent"] * 10
        world.clock.now += 61
        await world.turn()
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        assert live.manifest.phase == "pairs"
        if looks < 2:
            monkeypatch.setattr(Device, "_unasked", lambda *_: None)
        if looks < 1:
            monkeypatch.setattr(AdmissionDesk, "check_counted", lambda *_: None)
        outcomes = [await device.visit() for device in devices[:2]]
        assert world.aggregators["seed"].count(live.hash) == (0 if looks else 2)
        assert await visits(devices[2:]) == ["sent"] * 10
        return outcomes

    with ALGORITHMS.also(COUNTS.name, COUNTS):
        world = World(tmp_path, people(), COUNTS.name, as_dict(ExactCounts(part=1.0)), channel)
        outcomes = asyncio.run(scenario(world))
    assert {one.kind for one in outcomes} == {kind}
    assert all("counted in phase 'counts'" in one.why for one in outcomes) == bool(looks)


def test_a_sum_and_who_is_in_it_are_written_down_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An aggregator that is killed while it releases has both or neither."""
    channel = ChannelSettings(channel="secure-sum", minimum_cohort=4)
    written: list[tuple[int, int]] = []
    write = ServerDatabase.write

    def watched(
        store: ServerDatabase, statements: Iterable[Statement], durable: bool = False, **more: bool
    ) -> None:
        write(store, statements, durable, **more)
        if store.row("SELECT 1 FROM facts WHERE name = 'sealing key'"):
            released = store.rows("SELECT 1 FROM rounds WHERE state = 'released'")
            written.append((len(released), len(store.rows("SELECT 1 FROM counted"))))

    async def scenario(world: World) -> None:
        devices = await world.everyone()
        await world.turn()
        await visits(devices)
        monkeypatch.setattr(ServerDatabase, "write", watched)
        await world.turn()

    with ALGORITHMS.also(COUNTS.name, COUNTS):
        asyncio.run(scenario(World(tmp_path, people(), COUNTS.name, as_dict(ExactCounts(part=1.0)), channel)))
    assert set(written) <= {(0, 0), (1, 12)}
    assert (1, 12) in written
