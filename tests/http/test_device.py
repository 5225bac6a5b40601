"""A device with a folder of its own: crashes, two-faced coordinators, consent, leaving, times and sizes."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.core.consent import Permission
from murmura.core.errors import DataError, FederationError, RunError
from murmura.core.interactions import Interactions
from murmura.core.rng import client_secrets
from murmura.runtimes.http.aggregator.aggregator import Role
from murmura.runtimes.http.coordinator.setup import RoundTiming
from murmura.runtimes.http.device.device import Device, VisitOutcome
from murmura.runtimes.http.device.download_cache import DownloadCache
from murmura.runtimes.http.device.folder import DeviceFolder
from murmura.runtimes.http.device.joining import JoinRequest, join, leave
from murmura.runtimes.http.protocol.canonical import canonical
from murmura.runtimes.http.protocol.keys import ServerKey
from murmura.runtimes.http.protocol.refusals import RefusedError
from murmura.runtimes.http.protocol.transport import HttpReply
from murmura.runtimes.loopback import COORDINATOR, SEED, VECTOR
from tests.http.forgery import envelope, keys_of, opened_share
from tests.http.network import SEEDED, World, entropy, people

TRAINING: dict[str, object] = {"rounds": 2, "clients": "all", "prior": False}


class Killed(BaseException):
    """The process is gone."""


async def settle(world: World, folder: Path, client: int = 0, **wishes: object) -> DeviceFolder:
    """A device of a real folder in slot `client`, by an invitation of its own."""
    await world.servers.agree()
    rows, terms = world.rows(client), world.coordinator.rounds.terms
    request = JoinRequest(
        COORDINATOR,
        world.data.items.labels[rows.item],
        rows.value,
        client_secrets(SEEDED, world.info.clients)[client],
        Permission(),
        minimum=1,
        slot=client,
        fingerprint=terms.hash,
        admission=world.servers.admission(client),
    )
    made = DeviceFolder(folder)
    await join(replace(request, **wishes), made, world.network)  # type: ignore[arg-type]
    return made


def awake(world: World, folder: DeviceFolder, seed: int = 77) -> Device:
    """The device as a new process finds it."""
    send, clock, own = world.network, world.clock, folder.identity()
    cache = DownloadCache(COORDINATOR, send, own.terms)
    return Device(own, folder, folder.rows(), cache, send, clock, clock.sleep, entropy(seed))


ADDRESSES: dict[Role, str] = {"seed": SEED, "vector": VECTOR}


def reports(world: World, role: Role) -> list[bytes]:
    return [body for _, url, body in world.network.log if url == f"{ADDRESSES[role]}/reports"]


def opened(world: World, role: Role, body: bytes) -> tuple[bytes, bytes]:
    """(payload, mark) of a share, as its aggregator reads it."""
    _, shown, payload = opened_share(world, role, body)
    return payload, shown.mark


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


@pytest.mark.parametrize("timed", [True, False])
def test_a_stretch_is_all_that_leaves_and_needs_times(tmp_path: Path, timed: bool) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    own = world.rows(0).item
    order = np.random.default_rng(2).permutation(len(own))
    asked: Any = {"disclosure": "block", "permission": Permission(pi=0.5), "time": 10**9 + order}

    async def scenario() -> tuple[DeviceFolder, list[VisitOutcome]]:
        folder = await settle(world, tmp_path / "me", **asked)
        if not timed:  # as if the folder were from before there were times
            told = json.loads((folder.path / "history.json").read_text())
            bare = [{key: value for key, value in like.items() if key != "time"} for like in told]
            (folder.path / "history.json").write_text(json.dumps(bare))
        others = [await world.join(client) for client in range(1, 12)]
        world.coordinator.order("start")
        outcomes = []
        for _ in range(2):
            await world.turn()
            outcomes.append(await awake(world, folder).visit())  # a new process each time
            for one in others:
                await one.visit()
            world.clock.now += 61
            await world.turn()
        return folder, outcomes

    folder, outcomes = asyncio.run(scenario())
    if not timed:
        assert [outcome.kind for outcome in outcomes] == ["declined", "declined"]
        assert "disclosure 'block' needs a time for every row" in outcomes[0].why
        assert folder.memory.sent == ()
        return
    stretch = set(folder.memory.joined)
    assert len(stretch) == len(own) // 2
    assert len(folder.memory.sent) > 0
    assert set(folder.memory.sent) <= stretch
    places = np.sort(order[np.isin(own, folder.memory.joined)])
    assert np.ptp(places) == len(stretch) - 1


def test_joining_with_a_stretch_needs_times(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    with pytest.raises(DataError, match="disclosure 'block' needs a time for every row"):
        asyncio.run(settle(world, tmp_path / "me", disclosure="block"))
    assert not (tmp_path / "me").exists()


def test_the_folder_keeps_the_times_of_rows_and_opens_without_them(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    rows = world.rows(0)
    when = 1_000_000_000 + 77 * np.arange(len(rows))[::-1]
    folder = asyncio.run(settle(world, tmp_path / "me", time=when))
    kept = folder.rows()
    assert (kept.item == rows.item).all()
    assert kept.time is not None
    assert kept.time.tolist() == when.tolist()
    held, _ = awake(world, folder).history(world.info, Permission(pi=0.5), 0)
    assert held.time is not None
    assert held.time.tolist() == when.tolist()

    told = json.loads((folder.path / "history.json").read_text())
    for like in told:
        del like["time"]  # as a folder was before it had times
    (folder.path / "history.json").write_text(json.dumps(told))
    assert folder.rows().time is None
    assert (folder.rows().item == rows.item).all()

    without = asyncio.run(settle(world, tmp_path / "her", client=1))
    assert without.rows().time is None


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
    each, rounds = 20, 24
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
    # 480 against 480: the standard error of an AUC of 1/2 is sqrt((480 + 480 + 1) / (12 * 480 * 480)) = 0.019
    if honest:
        assert abs(auc(*times) - 0.5) <= 0.05
    else:
        assert auc(*times) > 0.6
