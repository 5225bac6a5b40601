"""Servers that stop and come back: a round is committed once or given up, never half of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from murmura.core.channel import ChannelSettings
from murmura.core.errors import RunError
from murmura.server.aggregator.aggregator import Role
from murmura.server.database import ServerDatabase
from murmura.server.loopback import SEED, VECTOR
from murmura.wire.refusals import RefusedError
from tests.http.network import World, people

TRAINING: dict[str, object] = {"rounds": 2, "clients": 10, "prior": False}


class Killed(BaseException):
    """The process is gone."""


def finished(world: World) -> dict[str, np.ndarray]:
    asyncio.run(play(world))
    return dict(world.coordinator.rounds.now.server.model)


async def play(world: World) -> None:
    await world.play(await world.everyone())


@pytest.mark.parametrize("stop", ["/rounds", "/close", "/release", "commit"])
@pytest.mark.parametrize("at", [SEED, VECTOR])
def test_a_coordinator_that_is_killed_anywhere_ends_with_the_same_model(
    tmp_path: Path, stop: str, at: str
) -> None:
    expected = finished(World(tmp_path / "calm", people(), settings=TRAINING))
    world = World(tmp_path / "rough", people(), settings=TRAINING)

    def kill(method: str, url: str, body: bytes) -> bytes:
        if method == "POST" and url.startswith(at) and url.endswith(stop):
            world.network.tamper = lambda method, url, body: body
            raise Killed
        return body

    async def scenario() -> None:
        devices = await world.everyone()
        world.network.tamper = kill
        if stop == "commit":
            world.coordinator.rounds.store.commit = die  # type: ignore[method-assign, assignment]
        for _ in range(20):
            try:
                await world.turn()
            except Killed:
                world.start_coordinator()
            for device in devices:
                await device.visit()
            if world.coordinator.about()["state"] == "finished":
                return

    def die(*_: object) -> None:
        raise Killed

    asyncio.run(scenario())
    states = {one["state"] for one in world.coordinator.history()}
    assert states == {"committed"}
    for name, values in world.coordinator.rounds.now.server.model.items():
        np.testing.assert_array_equal(values, expected[name], strict=True)


@pytest.mark.parametrize("role", ["seed", "vector"])
def test_an_aggregator_that_was_restarted_gives_its_round_up_and_goes_on(tmp_path: Path, role: Role) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        before = world.coordinator.rounds.now.model
        for device in devices[:6]:
            await device.visit()
        world.start_aggregator(role)
        for device in devices[6:]:
            await device.visit()
        world.clock.now += 61
        await world.turn()
        assert world.coordinator.rounds.now.model == before
        await world.play(devices)

    asyncio.run(scenario())
    rounds = world.coordinator.history()[::-1]
    assert [one["state"] for one in rounds] == ["abandoned", "committed", "committed"]
    assert [one["round"] for one in rounds] == [0, 1, 2]


@pytest.mark.parametrize("at", [SEED, VECTOR])
def test_without_one_aggregator_a_round_waits_and_is_given_up(tmp_path: Path, at: str) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        for device in devices:
            await device.visit()
        world.network.down.add(at)
        await world.turn()
        assert world.coordinator.rounds.live is not None
        world.clock.now += 100
        await world.turn()
        assert world.coordinator.rounds.live is not None
        world.clock.now += 100
        await world.turn()

    asyncio.run(scenario())
    (only,) = world.coordinator.history()
    assert only["state"] == "abandoned"
    assert world.coordinator.rounds.now.position.done == 0


def test_a_restarted_readable_coordinator_gives_the_round_up(tmp_path: Path) -> None:
    channel = ChannelSettings(channel="readable", minimum_cohort=10)
    world = World(tmp_path, people(), settings=TRAINING, channel=channel)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        await devices[0].visit()
        world.start_coordinator()
        await world.play(devices)

    asyncio.run(scenario())
    rounds = world.coordinator.history()[::-1]
    assert [one["state"] for one in rounds] == ["abandoned", "committed", "committed"]


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    store = world.coordinator._store

    def fill(size: int) -> None:
        for _ in range(500):
            store.write([("INSERT INTO blobs VALUES (randomblob(32), zeroblob(?))", (size,))])

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        for device in devices:
            await device.visit()
        (pages,) = store.row("PRAGMA page_count") or (0,)
        store._db.execute(f"PRAGMA max_page_count={pages}")
        for size in (3000, 10):
            with pytest.raises(RefusedError) as refused:
                fill(size)
            assert refused.value.code == "full"
        before = world.coordinator.rounds.now.model
        await world.turn()
        assert world.coordinator.rounds.live is not None  # it waits
        assert (
            world.coordinator.rounds.now.model,
            world.coordinator.rounds.store.federation_state().model,
        ) == (before,) * 2
        store._db.execute("PRAGMA max_page_count=100000")
        await world.play(devices)

    asyncio.run(scenario())
    assert [one["state"] for one in world.coordinator.history()] == ["committed"] * 2


def test_stopping_while_a_sum_is_on_its_way_commits_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.turn()
        for device in devices:
            await device.visit()

        def stop(method: str, url: str, body: bytes) -> bytes:
            if url.startswith(VECTOR) and url.endswith("/release"):
                world.coordinator.order("stop")
            return body

        world.network.tamper = stop
        await world.turn()

    asyncio.run(scenario())
    (only,) = world.coordinator.history()
    assert only["state"] == "abandoned"
    assert world.coordinator.rounds.now.position.done == 0


def test_a_folder_of_another_federation_is_refused(tmp_path: Path) -> None:
    World(tmp_path, people(), settings=TRAINING)
    with pytest.raises(RunError, match="its settings differ"):
        World(tmp_path, people(), settings={**TRAINING, "factors": 7})
    with pytest.raises(RunError, match="must belong to a coordinator"):
        ServerDatabase(tmp_path / "seed.db", "coordinator")
