"""A device with a folder of its own: crashes, two-faced coordinators, consent, leaving, times and sizes."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.core.consent import Permission
from murmura.core.errors import DataError, FederationError, RunError
from murmura.core.interactions import Interactions
from murmura.core.rng import client_secrets
from murmura.runtimes.http.coordinator.setup import RoundTiming
from murmura.runtimes.http.device.device import Device
from murmura.runtimes.http.device.download_cache import DownloadCache
from murmura.runtimes.http.device.folder import DeviceFolder
from murmura.runtimes.http.device.joining import JoinRequest, join, leave
from murmura.runtimes.http.protocol import wire
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import HttpReply
from murmura.runtimes.loopback import COORDINATOR, SEED, VECTOR
from tests.http.network import SEEDED, World, entropy, people

TRAINING: dict[str, object] = {"rounds": 2, "clients": "all", "prior": False}


class Killed(BaseException):
    """The process is gone."""


async def settle(world: World, folder: Path, client: int = 0, **wishes: object) -> DeviceFolder:
    """A device of a real folder in slot `client`."""
    rows = world.rows(client)
    request = JoinRequest(
        COORDINATOR,
        world.data.items.labels[rows.item],
        rows.value,
        client_secrets(SEEDED, world.info.clients)[client],
        Permission(),
        minimum=1,
        slot=client,
    )
    made = DeviceFolder(folder)
    await join(replace(request, **wishes), made, world.network)  # type: ignore[arg-type]
    return made


def awake(world: World, folder: DeviceFolder, seed: int = 77) -> Device:
    """The device as a new process finds it."""
    send, clock = world.network, world.clock
    cache = DownloadCache(COORDINATOR, send)
    return Device(folder.identity(), folder, folder.rows(), cache, send, clock, clock.sleep, entropy(seed))


def reports(world: World) -> dict[str, list[bytes]]:
    return {at: [body for _, url, body in world.network.log if url == f"{at}/reports"] for at in (SEED, VECTOR)}


def test_the_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    folder = asyncio.run(settle(world, tmp_path / "me"))
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()} == {0o600}


@pytest.mark.parametrize("moment", ["before sending", "between the shares", "after sending"])
def test_after_a_kill_the_same_bytes_are_sent_or_none(tmp_path: Path, moment: str) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    def kill(method: str, url: str, body: bytes) -> bytes:
        there = {"before sending": f"{SEED}/reports", "between the shares": f"{VECTOR}/reports"}
        if moment in there and url == there[moment]:
            raise Killed
        return body

    async def scenario() -> None:
        folder = await settle(world, tmp_path / "me")
        others = [await world.join(client) for client in range(1, 12)]
        world.coordinator.order("start")
        await world.turn()
        device = awake(world, folder)
        world.network.tamper = kill
        if moment == "after sending":
            keep = DeviceFolder.keep
            taken = iter((False, True))

            def keep_once(self: DeviceFolder, memory: object) -> None:
                if next(taken):
                    raise Killed
                keep(self, memory)  # type: ignore[arg-type]

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(DeviceFolder, "keep", keep_once)
                with pytest.raises(Killed):
                    await device.visit()
        else:
            with pytest.raises(Killed):
                await device.visit()
        world.network.tamper = lambda method, url, body: body
        outcome = await awake(world, folder, seed=78).visit()
        assert outcome.kind == "sent", outcome
        for other in others:
            await other.visit()
        await world.turn()
        assert len(folder.journal.verify().entries) == 1
        assert (await awake(world, folder, seed=79).visit()).kind == "idle"

    asyncio.run(scenario())
    (only,) = world.coordinator.history()
    assert (only["state"], only["reports"]) == ("committed", 12)
    mine = reports(world)
    for at in (SEED, VECTOR):
        names = [body[36:52] for body in mine[at]]
        for name in names:
            assert len({body for body in mine[at] if body[36:52] == name}) == 1


def test_a_changed_history_after_a_kill_sends_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    def kill(method: str, url: str, body: bytes) -> bytes:
        if url == f"{VECTOR}/reports":
            raise Killed
        return body

    async def scenario() -> tuple[str, int]:
        folder = await settle(world, tmp_path / "me")
        for client in range(1, 12):
            await world.join(client)
        world.coordinator.order("start")
        await world.turn()
        world.network.tamper = kill
        with pytest.raises(Killed):
            await awake(world, folder).visit()
        world.network.tamper = lambda method, url, body: body
        folder.allow(Permission(pi=0.3))
        seen = len(reports(world)[SEED])
        outcome = await awake(world, folder).visit()
        return outcome.why, len(reports(world)[SEED]) - seen

    why, sent = asyncio.run(scenario())
    assert "not what was prepared" in why
    assert sent == 0


def test_a_late_device_keeps_its_state(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING, timing=RoundTiming(round=60, hold=5, spread=20))

    async def scenario() -> tuple[str, object]:
        folder = await settle(world, tmp_path / "me")
        for client in range(1, 12):
            await world.join(client)
        world.coordinator.order("start")
        await world.turn()

        def stall(method: str, url: str, body: bytes) -> bytes:
            if url == f"{SEED}/reports":
                world.clock.now += 100
            return body

        world.network.tamper = stall
        outcome = await awake(world, folder).visit()
        return outcome.why, folder.memory.state

    why, state = asyncio.run(scenario())
    assert "is over" in why
    assert state == {}


def forge(world: World, change: Callable[[dict[str, object]], None]) -> Callable[..., object]:
    """The coordinator's own key under another manifest with the same number."""
    live = world.coordinator.rounds.live
    assert live is not None
    plain = json.loads(live.envelope[wire.SIGNATURE_BYTES :])
    change(plain)
    content = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
    envelope = world.coordinator.key.sign("manifest", content) + content
    return lambda device: device.take_part(HttpReply(200, envelope))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"nonce": "00" * 16}, "forged"),
        ({"serial": 0, "nonce": "00" * 16}, "replay"),
        ({"serial": 9, "nonce": "00" * 16}, "replay"),
        ({"federation": "00" * 16, "serial": 9}, "forged"),
    ],
)
def test_a_two_faced_coordinator_is_found(tmp_path: Path, change: dict[str, object], code: str) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.one_round(devices)
        await world.turn()
        await devices[0].visit()  # round 1, manifest 1: done
        with pytest.raises(RefusedError) as refused:
            await forge(world, lambda plain: plain.update(change))(devices[0])  # type: ignore[misc]
        assert refused.value.code == code

    asyncio.run(scenario())


def test_a_manifest_of_one_persons_own_finds_no_aggregator(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> str:
        devices = await world.everyone()
        await world.turn()
        outcome = await forge(world, lambda plain: plain.update({"nonce": "00" * 16}))(devices[0])  # type: ignore[misc]
        return str(outcome.why)

    assert "ticket must be for the open round" in asyncio.run(scenario())


def test_joining_refuses_another_key_and_foreign_data(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    with pytest.raises(FederationError, match="must have the key that was given"):
        asyncio.run(settle(world, tmp_path / "me", key=bytes(32)))
    with pytest.raises(DataError, match="at least one of the federation's 30 items"):
        asyncio.run(settle(world, tmp_path / "me", labels=np.array([900, 901]), values=np.ones(2)))
    assert not DeviceFolder(tmp_path / "me").exists
    assert world.coordinator.rounds.store.registered().tolist() == []


def test_excluded_items_never_leave_and_pi_is_a_limit(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> DeviceFolder:
        label = world.data.items.labels[world.rows(0).item[0]]
        allowed = Permission(pi=0.5)
        folder = await settle(world, tmp_path / "me", never=(label,), permission=allowed)
        others = [await world.join(client) for client in range(1, 12)]
        world.coordinator.order("start")
        device = awake(world, folder)
        for _ in range(2):
            await world.turn()
            for one in (device, *others):
                await one.visit()
            await world.turn()
        return folder

    folder = asyncio.run(scenario())
    own = world.rows(0).item
    sent = folder.memory.sent
    assert own[0] not in sent
    assert 0 < len(sent) <= len(own) // 2
    assert folder.journal.verify().entries[-1].disclosed == len(sent) / len(own)


def test_leaving_deletes_everything(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> str | None:
        folder = await settle(world, tmp_path / "me")
        assert world.coordinator.rounds.store.registered().tolist() == [0]
        return await leave(folder, world.network)

    assert asyncio.run(scenario()) is None
    assert not (tmp_path / "me").exists()
    assert world.coordinator.rounds.store.registered().tolist() == []
    with pytest.raises(RunError, match="join a federation first"):
        DeviceFolder(tmp_path / "me").identity()


def unequal(small: int, large: int, each: int) -> Interactions:
    """Half of the people like a few items, half very many."""
    rng = np.random.default_rng(1)
    pairs = [
        (user, item)
        for user in range(2 * each)
        for item in rng.choice(2500, small if user < each else large, replace=False).tolist()
    ]
    user, item = np.array(pairs).T
    return Interactions.of(user, item)


def auc(low: list[float], high: list[float]) -> float:
    pairs = np.subtract.outer(np.array(high), np.array(low))
    return float((pairs > 0).mean() + (pairs == 0).mean() / 2)


@pytest.mark.slow
@pytest.mark.parametrize("honest", [True, False])
def test_neither_sizes_nor_times_tell_ten_likes_from_two_thousand(tmp_path: Path, honest: bool) -> None:
    """Training takes (virtual) time in proportion to the likes; an impostor draws its time after training."""
    each, rounds = 20, 8
    data = unequal(10, 2000, each)
    timing = RoundTiming(round=60, hold=5, spread=20)
    world = World(tmp_path, data, "fcf", {"rounds": rounds, "factors": 2}, timing=timing)
    sizes: list[list[float]] = [[], []]
    times: list[list[float]] = [[], []]

    async def visit(device: Device, big: bool, start: float) -> None:
        world.clock.now = start
        train = device._train

        async def slow(*arguments: object) -> object:
            result = await train(*arguments)  # type: ignore[arg-type]
            world.clock.now += 0.002 * len(device.rows.item)
            if not honest:
                arguments[0].__dict__["send_at"] = (
                    world.clock.now
                    + timing.spread * np.random.default_rng(int(start) + device.rows.item.size).random()
                )
            return result

        device._train = slow  # type: ignore[method-assign, assignment]
        before = len(world.network.log)
        await device.visit()
        device._train = train  # type: ignore[method-assign]
        sent = [body for _, url, body in world.network.log[before:] if url.endswith("/reports")]
        sizes[big].append(float(sum(map(len, sent))))
        times[big].append(world.clock.now - start)

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in range(rounds):
            await world.turn()
            start = world.clock.now
            for place, device in enumerate(devices):
                await visit(device, place >= each, start)
            world.clock.now = start + 50
            await world.turn()

    asyncio.run(scenario())
    assert len(times[0]) == len(times[1]) == each * rounds
    assert auc(*sizes) == 0.5
    # 160 against 160: the standard error of an AUC of 1/2 is sqrt((160 + 160 + 1) / (12 * 160 * 160)) = 0.032
    if honest:
        assert abs(auc(*times) - 0.5) <= 0.05
    else:
        assert auc(*times) > 0.6
