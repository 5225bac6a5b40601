"""Nothing stays: every byte of every file of all machines is searched after each round, write-ahead files too.

Looked for are report ids, tickets, who was called as it is stored, tokens, and invitations at the aggregators.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.device.device import Device
from murmura.server.database import ServerDatabase, Statement
from tests.faults.canary import HEAD
from tests.faults.malice import every_file, uploads
from tests.http.network import World, people

COHORT = 10
SETTINGS: dict[str, object] = {"rounds": 3, "clients": COHORT}
Traces = dict[str, set[bytes]]  # what it is -> its spellings


def traces(world: World, devices: list[Device], called: bytes) -> Traces:
    """What the uploads of a round could have left behind."""
    m, key = devices[0].manifest, world.coordinator.key
    assert m is not None
    reports = {body[HEAD - 16 : HEAD] for _, body in uploads(world.network)}
    assert len(reports) in (COHORT, len(devices))  # a drawn cohort, or the prior's everyone
    tokens = {device.identity.token for device in devices}
    found: Traces = {
        "a report id": reports | {report.hex().encode() for report in reports},
        "a ticket": {key.sign("ticket", m.hash + report) for report in reports},
        "who was called": {called},
        "a token": {spelt for token in tokens for spelt in (token.encode(), bytes.fromhex(token))},
    }
    return found


def found_in(folder: Path, wanted: Traces) -> set[tuple[str, str]]:
    """(which file, what) of everything that is there."""
    files = every_file(folder)
    assert {"coordinator.db", "seed.db", "vector.db", "coordinator.db-wal", "coordinator.db-shm"} <= set(files)
    return {
        (name, what)
        for name, content in files.items()
        for what, spellings in wanted.items()
        if any(one in content for one in spellings)
    }


def called_now(world: World) -> bytes:
    """Who is called in the open round, as it is stored while the round lasts."""
    live = world.coordinator.rounds.live
    assert live is not None
    packed = np.array(sorted(live.called), "<i4").tobytes()
    assert found_in(world.folder, {"who is called": {packed}})  # the search would find it
    return packed


async def played(world: World, after: Callable[[Traces], None]) -> None:
    """A whole federation, one round of which is given up; `after` each of them."""
    rounds = world.coordinator.rounds
    rounds.setup = replace(rounds.setup, wait_for=0)
    # one place stays free, so that everybody's numbers are no run of numbers, as those of items are
    devices = [await world.join(client) for client in range(world.info.clients) if client != 5]
    world.coordinator.order("start")
    for number in range(6):
        world.network.log.clear()
        await world.turn()
        if world.coordinator.about()["state"] == "finished":
            return
        called = called_now(world)
        for device in devices:
            await device.visit()
        wanted = traces(world, devices, called)
        if number == 2:
            world.start_aggregator("seed")  # its shares are lost
        await world.turn()
        assert world.coordinator.rounds.live is None
        after(wanted)
    raise AssertionError("it did not finish")


def test_no_file_of_any_machine_says_who_took_part(tmp_path: Path) -> None:
    world, rounds = World(tmp_path, people(), settings=SETTINGS), []

    def nothing(wanted: Traces) -> None:
        rounds.append(world.coordinator.history()[0]["state"])
        assert found_in(tmp_path, wanted) == set()

    asyncio.run(played(world, nothing))
    assert sorted(rounds) == ["abandoned", *["committed"] * 4]


def test_aggregators_write_no_invitation_down(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.play(devices)
        keys = {device.identity.admission.key.public for device in devices if device.identity.admission}
        holders = {name for name, _ in found_in(tmp_path, {"an invitation": keys})}
        assert holders == {"coordinator.db"}  # which gives one place for each, for as long as it is held
        for device in devices:
            world.coordinator.leave(device.identity.token)
        assert found_in(tmp_path, {"an invitation": keys}) == set()

    asyncio.run(scenario())


def test_a_machine_that_does_not_cut_its_write_ahead_file_keeps_every_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = ServerDatabase.write

    def keeping(
        self: ServerDatabase, statements: Iterable[Statement], durable: bool = False, forget: bool = False
    ) -> None:
        write(self, statements, durable)

    monkeypatch.setattr(ServerDatabase, "write", keeping)
    world, seen = World(tmp_path, people(), settings=SETTINGS), set[tuple[str, str]]()

    def something(wanted: Traces) -> None:
        seen.update(found_in(tmp_path, wanted))

    asyncio.run(played(world, something))
    assert {("seed.db-wal", "a report id"), ("vector.db-wal", "a report id")} <= seen
    assert ("coordinator.db-wal", "who was called") in seen
