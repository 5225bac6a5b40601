"""Statistics asked for twice: two sums of one window differ by whoever came between them.

Aggregators release no second one and devices answer no second one, each by itself. A failed one waits.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.core.contract import Total
from murmura.core.interactions import Interactions
from murmura.device.device import Device
from murmura.server.aggregator.round_register import RoundRegister
from murmura.server.coordinator.rounds import RoundRunner
from murmura.wire.refusals import RefusedError
from tests.faults.malice import counted_items, uploads
from tests.faults.test_trust_sybils import listening
from tests.http.network import World, people

SETTINGS: dict[str, object] = {"rounds": 2, "clients": "all"}
LATE = 11  # the device that joins after the first sum


def twelve() -> Interactions:
    """Twelve people, the last of whom comes later."""
    return people(LATE + 1)


async def one_sum(world: World) -> list[Device]:
    """Everybody but one has been counted."""
    rounds = world.coordinator.rounds
    rounds.setup = replace(rounds.setup, wait_for=LATE)
    devices = [await world.join(client) for client in range(LATE)]
    world.coordinator.order("start")
    await world.one_round(devices)
    assert world.coordinator.history()[0]["state"] == "committed"
    devices.append(await world.join(LATE))
    world.network.log.clear()
    return devices


def ask_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator asks for the statistics once more, under the next round's number and in the same window."""
    rounds = world.coordinator.rounds
    rounds.now = replace(rounds.now, position=replace(rounds.now.position, done=0))
    monkeypatch.setattr(RoundRunner, "_waits", lambda self: False)


def careless_aggregators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RoundRegister, "check_window", lambda *_: None)


def careless_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "_unasked", lambda *_: None)


def test_an_honest_aggregator_opens_no_second_sum_in_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, twelve(), settings=SETTINGS)

    async def scenario() -> None:
        devices = await one_sum(world)
        ask_again(world, monkeypatch)
        await world.turn()
        assert {(await device.visit()).kind for device in devices} == {"idle"}
        ended = world.coordinator.history()[0]
        assert (ended["phase"], ended["state"], ended["round"]) == ("prior", "abandoned", 1)
        assert (
            "two sums would differ by the clients that joined in between: wait for the next window"
            in ended["reason"]
        )
        assert uploads(world.network) == []

    asyncio.run(scenario())


def test_a_device_answers_once_in_a_window_whatever_the_round_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, twelve(), settings=SETTINGS)
    careless_aggregators(monkeypatch)

    async def scenario() -> None:
        devices = await one_sum(world)
        ask_again(world, monkeypatch)
        await world.turn()
        for device in devices[:LATE]:
            outcome = await device.visit()
            assert (outcome.kind, outcome.round) == ("declined", 1)
            assert "a second answer would show what this device adds to a sum" in outcome.why
        assert uploads(world.network) == []

    asyncio.run(scenario())


def test_two_sums_of_one_window_are_the_history_of_whoever_came_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, twelve(), settings=SETTINGS)
    careless_aggregators(monkeypatch)
    careless_devices(monkeypatch)
    learned = listening(world)

    async def scenario() -> None:
        devices = await one_sum(world)
        ask_again(world, monkeypatch)
        await world.one_round(devices)

    asyncio.run(scenario())
    assert difference(*learned) == set(world.rows(LATE).item.tolist())


def difference(first: Total, second: Total) -> set[int]:
    """The items that one sum counts once more than the other."""
    before, after = (one.update.tables["counts"] for one in (first, second))
    counts = dict(zip(before.index.tolist(), before.values[:, 0]))
    return {i for i, n in zip(after.index.tolist(), after.values[:, 0]) if n > counts.get(i, 0.0) + 0.5}


async def failed_sum(world: World) -> list[Device]:
    """Everybody has answered, and an aggregator loses what it had."""
    devices = await world.everyone()
    await world.turn()
    for device in devices:
        assert (await device.visit()).kind == "sent"
    world.start_aggregator("vector")
    await world.turn()
    assert world.coordinator.history()[0]["state"] == "abandoned"
    world.network.log.clear()
    return devices


def test_a_failed_sum_is_repeated_in_the_next_window_only(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)

    async def scenario() -> None:
        devices = await failed_sum(world)
        await world.one_round(devices)
        assert uploads(world.network) == []  # an honest coordinator does not ask
        wait = world.coordinator.rounds.waits_until - world.clock.now
        assert 0 < wait <= world.timing.window
        world.start_coordinator()  # nor does one that was restarted
        await world.one_round(devices)
        assert uploads(world.network) == []
        world.clock.now += wait
        await world.one_round(devices)
        assert world.coordinator.history()[0]["state"] == "committed"

    asyncio.run(scenario())


def test_devices_decline_a_failed_sum_that_is_repeated_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)

    async def scenario() -> None:
        devices = await failed_sum(world)
        monkeypatch.setattr(RoundRunner, "_waits", lambda self: False)
        await world.turn()
        assert {(await device.visit()).kind for device in devices} == {"declined"}
        assert uploads(world.network) == []

    asyncio.run(scenario())


def test_careless_devices_answer_a_failed_sum_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    careless_devices(monkeypatch)
    learned = listening(world)

    async def scenario() -> None:
        devices = await failed_sum(world)
        monkeypatch.setattr(RoundRunner, "_waits", lambda self: False)
        await world.one_round(devices)
        assert len(uploads(world.network)) == 2 * len(devices)

    asyncio.run(scenario())
    assert counted_items(learned[0]) == set(world.data.item.tolist())


def test_a_window_of_another_time_is_refused_by_aggregators_and_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator whose clock runs ahead: otherwise every manifest could bring a new window."""
    world = World(tmp_path, twelve(), settings=SETTINGS)

    async def scenario() -> None:
        devices = await one_sum(world)
        ask_again(world, monkeypatch)
        rounds = world.coordinator.rounds
        rounds.clock = lambda: world.clock.now + 2 * world.timing.window
        await world.turn()
        assert "must lie in the window of its time, but says 2" in world.coordinator.history()[0]["reason"]
        careless_aggregators(monkeypatch)
        rounds.now = replace(rounds.now, position=replace(rounds.now.position, done=0))
        await world.turn()
        for device in devices[:LATE]:
            with pytest.raises(RefusedError, match="window 2 must be that of the time, but is not"):
                await device.visit()
        assert uploads(world.network) == []

    asyncio.run(scenario())


def test_a_round_that_is_shown_again_counts_once_in_its_window(tmp_path: Path) -> None:
    """A coordinator that is restarted in the middle of a round has asked once."""
    world = World(tmp_path, people(), settings=SETTINGS)

    async def scenario() -> None:
        await world.everyone()
        await world.turn()
        for _ in range(3):
            world.start_coordinator()
            await world.turn()
        assert world.coordinator.rounds.store.attempts("prior", 0) == 1

    asyncio.run(scenario())


def at_midnight(world: World, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    """Where two windows meet, clocks may differ: a coordinator asks in the one it likes."""
    ask_again(world, monkeypatch)
    windows = world.coordinator.rounds.terms.windows
    world.clock.now = windows.ends(0) - 1.0
    world.coordinator.rounds.clock = lambda: windows.ends(0) + (1.0 if window else -1.0)


async def back_and_forth(world: World, devices: list[Device], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Statistics are asked in window 1, and once more in window 0, in which everybody has answered."""
    for window in (1, 0):
        at_midnight(world, monkeypatch, window)
        await world.turn()
        outcomes: list[str] = []
        for device in devices:
            try:
                outcomes.append((await device.visit()).kind)
            except RefusedError as error:
                outcomes.append(str(error))
        await world.turn()
    return outcomes


def test_a_device_that_answered_in_a_window_answers_in_no_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, twelve(), settings=SETTINGS)
    careless_aggregators(monkeypatch)

    async def scenario() -> None:
        devices = await one_sum(world)
        outcomes = await back_and_forth(world, devices, monkeypatch)
        assert all("window 0 must not come after 1" in one for one in outcomes)
        assert len(uploads(world.network)) == 2 * len(devices)  # of window 1

    asyncio.run(scenario())


def test_an_aggregator_that_opened_a_window_opens_no_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, twelve(), settings=SETTINGS)

    async def scenario() -> None:
        devices = await one_sum(world)
        assert set(await back_and_forth(world, devices, monkeypatch)) == {"idle"}
        assert "window 0 must not come after 1" in world.coordinator.history()[0]["reason"]

    asyncio.run(scenario())


def test_a_device_that_lets_windows_go_back_answers_twice_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, twelve(), settings=SETTINGS)
    careless_aggregators(monkeypatch)
    monkeypatch.setattr(Device, "_check_onward", lambda *_: None)

    async def scenario() -> None:
        devices = await one_sum(world)
        assert set(await back_and_forth(world, devices, monkeypatch)) == {"sent"}

    asyncio.run(scenario())


def test_a_device_draws_with_no_round_number_twice_however_long_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same number gives the same draws: two updates would differ by what the model changed alone."""
    world = World(tmp_path, twelve(), settings={"rounds": 9, "clients": "all"})
    monkeypatch.setattr("murmura.device.storage.REMEMBERED", 3)

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in range(5):
            await world.one_round(devices)
        rounds = world.coordinator.rounds
        rounds.now = replace(rounds.now, position=replace(rounds.now.position, round=1))
        await world.turn()
        world.network.log.clear()
        for device in devices:
            with pytest.raises(RefusedError, match="round 1 must not come after 4"):
                await device.visit()
        assert uploads(world.network) == []

    asyncio.run(scenario())


def test_a_device_that_lets_rounds_go_back_draws_again_with_one_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, twelve(), settings={"rounds": 9, "clients": "all"})
    monkeypatch.setattr("murmura.device.storage.REMEMBERED", 3)
    monkeypatch.setattr(Device, "_check_onward", lambda *_: None)

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in range(5):
            await world.one_round(devices)
        rounds = world.coordinator.rounds
        rounds.now = replace(rounds.now, position=replace(rounds.now.position, round=1))
        await world.turn()
        assert {(await device.visit()).kind for device in devices} == {"sent"}

    asyncio.run(scenario())
