"""A device with a folder of its own: crashes, two-faced coordinators, joining and leaving."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from murmura.core.consent import Permission
from murmura.core.errors import DataError, FederationError, RunError
from murmura.device.device import Device, VisitOutcome
from murmura.device.enrolment import leave
from murmura.device.folder import DeviceFolder
from murmura.server.coordinator.setup import RoundTiming
from murmura.server.loopback import SEED, VECTOR
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import ServerKey, canonical
from murmura.wire.transport import HttpReply
from tests.http.forgery import envelope, keys_of
from tests.http.network import World, people
from tests.http.own_devices import ADDRESSES, TRAINING, awake, opened, reports, settle


class Killed(BaseException):
    """The process is gone."""


def test_the_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    folder = asyncio.run(settle(world, tmp_path / "me"))
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()} == {0o600}


@pytest.mark.parametrize("moment", ["before sending", "between the shares", "after sending"])
def test_after_a_kill_the_same_content_is_sent_or_none(tmp_path: Path, moment: str) -> None:
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
            # the log it saw, what it will send, that it sends now, what it learned
            taken = iter((False, False, False, True))

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
        assert folder.check_evidence() >= 1

    asyncio.run(scenario())
    (only,) = world.coordinator.history()
    assert (only["state"], only["reports"]) == ("committed", 12)
    for role in ADDRESSES:
        sent = reports(world, role)
        contents = {
            body[36:52]: {opened(world, role, b) for b in sent if b[36:52] == body[36:52]} for body in sent
        }
        assert len(contents) == 12
        assert {len(one) for one in contents.values()} == {1}
    again = {"before sending": (12, 12), "between the shares": (13, 12), "after sending": (13, 13)}[moment]
    assert tuple(len(set(reports(world, role))) for role in ADDRESSES) == again  # sealed anew each time


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
        seen = len(reports(world, "seed"))
        outcome = await awake(world, folder).visit()
        return outcome.why, len(reports(world, "seed")) - seen

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


def forge(
    world: World, device: Device, change: Mapping[str, object], keys: Sequence[ServerKey] | None = None
) -> Awaitable[VisitOutcome]:
    """Another manifest for the open round, signed and logged for this device by machines that collude."""
    live = world.coordinator.rounds.live
    assert live is not None
    content = canonical({**json.loads(live.manifest.encode()), **change})
    before = device.storage.memory.log[0]
    return device.take_part(HttpReply(200, envelope(world, content, before=before, keys=keys)))


TWO_FACED: list[tuple[dict[str, object], str]] = [
    ({"nonce": "00" * 16}, "forged"),
    ({"serial": 0, "nonce": "00" * 16}, "replay"),
    ({"serial": 9, "nonce": "00" * 16}, "replay"),
    ({"federation": "00" * 16, "serial": 9}, "forged"),
]


@pytest.mark.parametrize("colluding", [1, 2, 3])
@pytest.mark.parametrize(("change", "code"), TWO_FACED)
def test_a_two_faced_coordinator_is_found(
    tmp_path: Path, change: dict[str, object], code: str, colluding: int
) -> None:
    """Alone it lacks signatures; and what a device remembers is enough where all three machines lie to it."""
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.one_round(devices)
        await world.turn()
        await devices[0].visit()  # round 1, manifest 1: done
        with pytest.raises(RefusedError) as refused:
            await forge(world, devices[0], change, keys_of(world)[:colluding])
        assert refused.value.code == (code if colluding == 3 else "forged")
        assert ("signature must be of the right machine" in str(refused.value)) == (colluding < 3)

    asyncio.run(scenario())


def test_a_manifest_of_one_persons_own_finds_no_coordinator(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> str:
        devices = await world.everyone()
        await world.turn()
        with pytest.raises(RefusedError, match="the manifest's signature must be of the right machine"):
            await forge(world, devices[0], {"nonce": "00" * 16}, keys_of(world)[:1])
        return (await forge(world, devices[0], {"nonce": "00" * 16})).why

    assert "ticket must be for the open round" in asyncio.run(scenario())


def test_joining_refuses_another_federation_and_foreign_data(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    with pytest.raises(FederationError, match="must be the one of the invitation, but has other terms"):
        asyncio.run(settle(world, tmp_path / "me", fingerprint=bytes(32)))
    with pytest.raises(DataError, match="at least one of the federation's 30 items"):
        asyncio.run(settle(world, tmp_path / "me", labels=np.array([900, 901]), values=np.ones(2)))
    assert not DeviceFolder(tmp_path / "me").exists
    assert world.coordinator.rounds.store.registered().tolist() == []


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
