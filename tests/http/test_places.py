"""Places: who stays away too often loses hers, an operator can free one, and who comes back takes another."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.core.channel import ChannelSettings
from murmura.device.device import Device
from murmura.device.enrolment import register
from murmura.server.loopback import COORDINATOR
from murmura.wire.refusals import RefusedError
from murmura.wire.transport import ask, bearer
from tests.http.network import World, people
from tests.http.own_devices import awake, settle

TRAINING: dict[str, object] = {"rounds": 30, "clients": "all", "prior": False}


def federation(folder: Path, expire: int, **channel: object) -> World:
    """One whose places are free again after so many missed rounds."""
    chosen = ChannelSettings(**{"channel": "secure-sum", "minimum_cohort": 8, **channel})  # type: ignore[arg-type]
    world = World(folder, people(), settings=TRAINING, channel=chosen)
    world.servers.setup = world.setup = replace(world.setup, expire=expire)
    world.start_coordinator()
    return world


def places(world: World) -> list[int]:
    return list(world.coordinator.rounds.store.registered().tolist())


async def round_with(world: World, devices: list[Device]) -> None:
    """A round these devices come to; it ends at its deadline."""
    await world.turn()
    for device in devices:
        assert (await device.visit()).kind == "sent"
    world.clock.now += 61
    await world.turn()


def missed(world: World) -> dict[int, int]:
    return dict(world.coordinator._store.rows("SELECT slot, missed FROM devices ORDER BY slot"))


@pytest.mark.parametrize("mode", ["secure-sum", "readable"])
def test_a_place_is_free_after_so_many_missed_rounds_in_a_row(tmp_path: Path, mode: str) -> None:
    world = federation(tmp_path, expire=3, channel=mode)

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in range(2):
            await round_with(world, devices[2:])
        assert missed(world) == {0: 2, 1: 2} | dict.fromkeys(range(2, 12), 0)
        await round_with(world, devices[1:])  # the second came back in time
        assert missed(world)[1] == 0
        assert places(world) == list(range(1, 12))

    asyncio.run(scenario())


def test_rounds_nobody_heard_of_are_missed_by_nobody(tmp_path: Path) -> None:
    world = federation(tmp_path, expire=1)

    async def scenario() -> None:
        devices = await world.everyone()
        world.network.down.add("http://vector")
        for _ in range(3):
            await world.turn()
            world.clock.now += 200
            await world.turn()
        world.network.down.clear()
        assert places(world) == list(range(12))
        await round_with(world, devices)
        assert places(world) == list(range(12))

    asyncio.run(scenario())
    assert "abandoned" in {one["state"] for one in world.coordinator.history()}


def test_who_was_not_called_misses_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings={**TRAINING, "clients": 10})
    world.servers.setup = replace(world.setup, expire=1)
    world.start_coordinator()

    async def scenario() -> None:
        await world.everyone()
        await world.turn()
        live = world.coordinator.rounds.live
        assert live is not None
        uncalled = sorted(set(range(12)) - live.called)
        assert len(uncalled) == 2
        world.clock.now += 61
        await world.turn()
        assert places(world) == uncalled

    asyncio.run(scenario())


def test_who_comes_back_takes_a_place_anew_and_keeps_what_she_learned(tmp_path: Path) -> None:
    world = federation(tmp_path / "world", expire=1)

    async def scenario() -> None:
        folder = await settle(world, tmp_path / "me")
        others = [await world.join(client) for client in range(1, 12)]
        world.coordinator.order("start")
        await round_with(world, [awake(world, folder), *others])
        learned = folder.memory.state
        await round_with(world, others)
        assert places(world) == list(range(1, 12))
        newcomer = world.servers.admission(12)
        await register(world.network, COORDINATOR, world.coordinator.rounds.terms, newcomer, "ab" * 32)
        assert places(world) == list(range(12))
        await ask(
            world.network, "DELETE", f"{COORDINATOR}/devices/me", headers=bearer(others[4].identity.token)
        )
        others.pop(4)
        await world.turn()
        assert (await awake(world, folder).visit()).kind == "not-called"  # this round began without her
        assert folder.identity().place == 5
        assert places(world) == list(range(12))
        assert set(folder.memory.state) == set(learned)
        for other in others:
            await other.visit()
        world.clock.now += 61
        await world.turn()
        await world.turn()
        assert (await awake(world, folder).visit()).kind == "sent"
        assert folder.identity().place == 5

    asyncio.run(scenario())


def test_where_everyone_may_join_a_lost_place_is_taken_anew_too(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    world.servers.setup = replace(world.setup, admission="open", admitter="", expire=1)
    world.start_coordinator()

    async def scenario() -> None:
        devices = await world.everyone()
        for device in devices:
            device.identity = replace(device.identity, admission=None)
        await round_with(world, devices[1:])
        assert places(world) == list(range(1, 12))
        await world.turn()
        assert (await devices[0].visit()).kind == "not-called"
        assert places(world) == list(range(12))

    asyncio.run(scenario())


def test_an_operator_frees_a_place_and_a_revoked_device_does_not_come_back(tmp_path: Path) -> None:
    world = federation(tmp_path, expire=20)

    async def scenario() -> None:
        devices = await world.everyone()
        await round_with(world, devices)
        operator = bearer(world.coordinator.operator_token)
        reply = await ask(world.network, "DELETE", f"{COORDINATOR}/devices/3", headers=operator)
        assert reply.json() == {"removed": 3}
        assert 3 not in places(world)
        for wrong in ("3", "99", "x", "-1", "9" * 30):
            with pytest.raises(RefusedError) as caught:
                await ask(world.network, "DELETE", f"{COORDINATOR}/devices/{wrong}", headers=operator)
            assert caught.value.code == "unknown"
        for token in (bearer(devices[0].identity.token), bearer("x"), {}):
            with pytest.raises(RefusedError) as caught:
                await ask(world.network, "DELETE", f"{COORDINATOR}/devices/4", headers=token)
            assert caught.value.code == "unauthorised"
        assert 4 in places(world)
        await world.turn()
        assert (await devices[3].visit()).kind == "not-called"
        assert 3 in places(world)  # its invitation is good: it came back
        own = devices[3].identity.admission
        assert own is not None
        message = world.servers.admitter.sign("revocation", own.key.public) + own.key.public
        world.coordinator.revoke(message)
        world.clock.now += 61
        for _ in range(2):
            await world.turn()
        outcome = await devices[3].visit()
        assert (outcome.kind, "revoked" in outcome.why) == ("refused", True)
        assert 3 not in places(world)

    asyncio.run(scenario())


def test_what_a_place_was_taken_with_leaves_no_trace(tmp_path: Path) -> None:
    """A device that is gone is gone from the file too."""
    world = federation(tmp_path, expire=20)

    async def scenario() -> bytes:
        devices = await world.everyone()
        own = devices[3].identity.admission
        assert own is not None
        stored = world.coordinator._store.row("SELECT admission FROM devices WHERE slot = 3")
        assert stored == (own.key.public,)
        world.coordinator.leave(devices[3].identity.token)
        return own.key.public

    public = asyncio.run(scenario())
    assert not any(public in path.read_bytes() for path in tmp_path.glob("coordinator.db*"))
