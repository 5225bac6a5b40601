"""What its owner allows is all that leaves a device: items excluded, pi, a stretch in time."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.core.consent import Permission
from murmura.core.errors import DataError
from murmura.device.device import VisitOutcome
from murmura.device.folder import DeviceFolder
from murmura.server.loopback import COORDINATOR
from murmura.wire.refusals import RefusedError, UnreachableError
from tests.http.network import World, people
from tests.http.own_devices import TRAINING, awake, settle


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


@pytest.mark.parametrize(
    "answer",
    [UnreachableError("it is down."), RefusedError("unauthorised", "no device has this token.")],
    ids=["no answer", "place lost"],
)
def test_consent_taken_back_at_the_ticket_ends_the_round(tmp_path: Path, answer: Exception) -> None:
    world = World(tmp_path, people(), settings=TRAINING)
    asked: list[str] = []

    async def scenario() -> VisitOutcome:
        folder = await settle(world, tmp_path / "me")
        for client in range(1, 12):
            await world.join(client)
        world.coordinator.order("start")
        await world.turn()

        def taken_back(method: str, url: str, body: bytes) -> bytes:
            if method != "POST":
                return body
            asked.append(url.removeprefix(COORDINATOR))
            folder.allow(Permission(train=False))
            raise answer

        world.network.tamper = taken_back
        return await awake(world, folder).visit()

    outcome = asyncio.run(scenario())
    assert (outcome.kind, asked) == ("declined", ["/tickets"])
    assert "taken back" in outcome.why


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
