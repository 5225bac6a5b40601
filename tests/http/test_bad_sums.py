"""Sums over the wire that cannot be: no times, too many items, a second report. One sentence, nothing lost."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from murmura.runtimes.http.device.device import Device, VisitOutcome
from tests.http.network import World, people
from tests.http.released_sums import CHANNEL, KNN, same_model, sums


def test_a_device_without_times_says_so_and_stays_out(tmp_path: Path) -> None:
    world = World(tmp_path, people(), "fed-item-knn", {**KNN, "recency": 1.0}, CHANNEL)

    async def scenario() -> VisitOutcome:
        devices = await world.everyone()
        await world.turn()
        return await devices[0].visit()

    outcome = asyncio.run(scenario())
    assert (outcome.kind, outcome.phase) == ("declined", "counts")
    assert "recency must be 0 where rows have no times" in outcome.why


def test_more_items_than_the_coordinator_has_room_for_pause_it_with_the_figure(tmp_path: Path) -> None:
    world = World(tmp_path, people(), "fed-item-knn", {**KNN, "memory_gb": 1e-6}, CHANNEL)

    async def scenario() -> None:
        devices = await world.everyone()
        before = world.coordinator.rounds.now.model
        await world.one_round(devices)
        assert world.coordinator.rounds.now.model == before

    asyncio.run(scenario())
    (ended,) = world.coordinator.history()
    assert (ended["state"], world.coordinator.about()["state"]) == ("abandoned", "paused")
    assert "memory_gb must be at least" in ended["reason"]
    assert "raise it, or raise least, 2 now, for fewer items" in ended["reason"]


def test_a_second_report_of_one_device_is_not_counted(tmp_path: Path) -> None:
    """It was put back from an old copy and knows nothing of its first report, of counts or of pairs."""
    world = sums(tmp_path)
    twice: list[VisitOutcome] = []

    async def again(device: Device) -> None:
        before = device.storage.memory
        assert (await device.visit()).kind == "sent"
        after = device.storage.memory
        device.storage.keep(before)
        device._etag = ""
        twice.append(await device.visit())
        device.storage.keep(after)

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in ("counts", "pairs"):
            await world.turn()
            for device in devices[1:-1]:
                await device.visit()
            await again(devices[0])
            await devices[-1].visit()
            await world.turn()

    asyncio.run(scenario())
    assert [one.phase for one in twice] == ["counts", "pairs"]
    assert {one.kind for one in twice} == {"refused"}
    assert all(re.match("another share was accepted under this report id before", one.why) for one in twice)
    assert [one["reports"] for one in world.coordinator.history()] == [12, 12]
    same_model(world)
