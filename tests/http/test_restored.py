"""Servers restored from older copies: whoever is behind says so and stops, devices keep everything and wait."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.device.device import Device, VisitOutcome
from murmura.device.trust import GoneBackError
from murmura.device.visits import ManifestEvents, stay
from murmura.server.coordinator.agreement import TermsKeeper
from murmura.server.loopback import SEED, VECTOR
from murmura.wire.refusals import RefusedError
from tests.http.network import World, people

TRAINING: dict[str, object] = {"rounds": 100, "clients": "all", "factors": 2, "prior": False}
MACHINES = ("coordinator", "seed", "vector")


class Copied(World):
    """A federation whose folders are copied and put back; machines that are not named go on as they are."""

    def copy(self, name: str) -> None:
        """Stop all machines, keep a copy of their files, start them again."""
        self.servers.close()
        (self.folder / name).mkdir()
        for file in self.folder.glob("*.db*"):
            shutil.copy(file, self.folder / name)
        self.start()

    def restore(self, name: str, *machines: str) -> None:
        """Stop all machines, put the copies of these back, start them again."""
        self.servers.close()
        for machine in machines:
            for file in self.folder.glob(f"{machine}.db*"):
                file.unlink()
            for file in (self.folder / name).glob(f"{machine}.db*"):
                shutil.copy(file, self.folder)
        self.start()

    def start(self) -> None:
        self.servers.start_coordinator()
        self.servers.start_aggregator("seed")
        self.servers.start_aggregator("vector")

    def files(self) -> dict[str, bytes]:
        """What all machines have written."""
        self.servers.close()
        found = {file.name: file.read_bytes() for file in self.folder.glob("*.db")}
        self.start()
        return found

    async def rounds(self, devices: list[Device], n: int) -> None:
        """So many more are committed."""
        wanted = self.coordinator.rounds.now.position.done + n
        while self.coordinator.rounds.now.position.done < wanted:
            await self.one_round(devices)

    @property
    def entries(self) -> int:
        return len(self.coordinator.rounds.store.log)


@pytest.fixture
def world(tmp_path: Path) -> Copied:
    return Copied(tmp_path, people(10), settings=TRAINING)


async def played(world: Copied) -> list[Device]:
    """One round, a copy of all machines, three rounds more and another copy."""
    devices = await world.everyone()
    await world.rounds(devices, 1)
    world.copy("older")
    await world.rounds(devices, 3)
    world.copy("newest")
    return devices


def test_a_coordinator_that_is_behind_stops_before_it_writes_or_sends_anything(world: Copied) -> None:
    async def scenario() -> None:
        await played(world)
        known = len(world.aggregators["seed"].witness.tree)
        world.restore("older", "coordinator")
        before = world.files()
        world.network.log.clear()
        with pytest.raises(
            RunError, match=f"must have the {known} entries that {SEED} has seen, but has 3: "
        ) as no:
            await world.turn()
        assert str(no.value).endswith("new folders of all three machines.")
        assert {method for method, *_ in world.network.log} == {"GET"}
        assert world.files() == before
        (world.folder / "none").mkdir()
        world.restore("none", "coordinator")  # a folder that is lost is behind, too
        with pytest.raises(RunError, match=f"must have the {known} entries that {SEED} has seen, but has 0: "):
            await world.turn()
        world.restore("newest", "coordinator")
        await world.turn()

    asyncio.run(scenario())


def test_one_that_does_not_look_is_silent_for_ever(world: Copied, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> None:
        return

    async def scenario() -> None:
        devices = await played(world)
        monkeypatch.setattr(TermsKeeper, "compare", nothing)
        world.restore("older", "coordinator")
        done = world.coordinator.rounds.now.position.done
        for _ in range(5):
            await world.turn()
            world.clock.now += 2 * world.timing.window
            for device in devices:
                assert (await device.visit()).kind == "idle"
        about = world.coordinator.status()
        assert (about["state"], about["open"], about["rounds_done"]) == ("running", None, done)
        with pytest.raises(RefusedError, match="no round is open: the federation is running"):
            world.coordinator.manifest()

    asyncio.run(scenario())


def test_a_coordinator_waits_for_an_aggregator_that_is_away_and_compares_with_it_then(world: Copied) -> None:
    async def scenario() -> None:
        await played(world)
        world.restore("older", "coordinator", "seed")
        world.network.down.add(VECTOR)
        for _ in range(3):
            await world.turn()
        assert "is down" in world.coordinator.rounds.trouble
        assert world.coordinator.about()["state"] == "running"
        world.network.down.clear()
        with pytest.raises(
            RunError,
            match=f"entries that {VECTOR} has seen, but has 3: its folder is new or an older copy",
        ):
            await world.turn()
        world.restore("newest", "vector")
        world.network.down.add(SEED)  # that one alone knows no more than the coordinator
        with pytest.raises(RunError, match=f"that {VECTOR} has seen"):
            await world.turn()

    asyncio.run(scenario())


@pytest.mark.parametrize("role", ["seed", "vector"])
def test_one_aggregator_that_is_behind_catches_up(world: Copied, role: str) -> None:
    async def scenario() -> None:
        devices = await played(world)
        world.restore("older", role)
        await world.rounds(devices, 2)
        await world.turn()
        assert {len(one.witness.tree) for one in world.aggregators.values()} == {world.entries}

    asyncio.run(scenario())


def test_a_log_of_another_past_is_found_where_it_is_the_longer_one(world: Copied) -> None:
    """All went back and went on, then somebody put the newest copy of the coordinator in place."""

    async def scenario() -> None:
        await played(world)
        world.restore("older", *MACHINES)
        await world.turn()
        world.clock.now += 200
        await world.turn()
        world.restore("newest", "coordinator")
        with pytest.raises(RunError, match="entries that http://seed has seen, but has others; one of the two"):
            await world.turn()

    asyncio.run(scenario())


def test_devices_keep_everything_while_all_three_are_behind(world: Copied) -> None:
    async def scenario() -> None:
        devices = await played(world)
        seen = [device.storage.memory for device in devices]
        world.restore("older", *MACHINES)
        for shown in ("only . are shown", "another past is shown"):
            await world.turn()
            for device in devices:
                with pytest.raises(
                    GoneBackError, match=f"gone back to an older copy, or lie: .* but {shown}; it sends"
                ):
                    await device.visit()
            while world.entries <= seen[0].log[0]:  # rounds that are given up, until the log is the longer one
                world.clock.now += 61
                await world.turn()
        assert [device.storage.memory for device in devices] == seen
        world.restore("newest", *MACHINES)
        await world.rounds(devices, 1)

    asyncio.run(scenario())


class Patience(ManifestEvents):
    """Turns the world on at every look, and notes the long ones; in the third the newest copy is put back."""

    def __init__(self, world: Copied) -> None:
        super().__init__(None, "")
        self._world, self.rests = world, 0

    async def wait(self) -> None:
        await self._world.turn()

    async def rest(self) -> None:
        self.rests += 1
        if self.rests == 3:
            self._world.restore("newest", *MACHINES)
        await self._world.turn()


class DoneError(Exception):
    """The test has seen enough."""


def test_a_device_says_once_that_servers_have_gone_back_and_looks_again_later(world: Copied) -> None:
    said: list[VisitOutcome] = []

    def tell(outcome: VisitOutcome) -> None:
        said.append(outcome)
        if outcome.kind == "sent":
            raise DoneError

    async def scenario() -> None:
        devices = await played(world)
        world.restore("older", *MACHINES)
        events = Patience(world)
        with pytest.raises(DoneError):
            await stay(devices[0], events, tell)
        assert events.rests == 3

    asyncio.run(scenario())
    assert [one.kind for one in said] == ["refused", "sent"]
    assert "it sends nothing, keeps everything and looks again later." in said[0].why
