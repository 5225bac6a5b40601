"""Servers restored from older copies: whoever is behind says so and stops, devices keep everything and wait."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from murmura.core.errors import DataError, RunError
from murmura.device.device import VisitOutcome
from murmura.device.enrolment import register
from murmura.device.log_mirror import LogMirror
from murmura.device.trust import GoneBackError, check_log
from murmura.device.visits import ManifestEvents, stay
from murmura.engine.federation import server_step
from murmura.server.coordinator.agreement import TermsKeeper
from murmura.server.loopback import COORDINATOR, SEED, VECTOR
from murmura.server.restoring import ServerCopy, copy_folder, foreseen, take_over_mirror
from murmura.wire.log import ResumedLog
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from tests.faults.malice import logged
from tests.http.copied import MACHINES, TRAINING, Copied, played
from tests.http.network import people


@pytest.fixture
def world(tmp_path: Path) -> Copied:
    return Copied(tmp_path, people(10), settings=TRAINING)


def manifests(world: Copied) -> list[Manifest]:
    """All of the log, in their order."""
    contents = (entry.partition(b"\0") for entry in logged(world))
    return [Manifest.decode(content) for kind, _, content in contents if kind == b"manifest"]


def test_a_coordinator_restored_ten_rounds_back_takes_the_log_over_and_goes_on(world: Copied) -> None:
    async def scenario() -> None:
        devices = await played(world)
        await world.rounds(devices, 7)
        await world.turn()  # the model is logged where everybody sees it, and another round is opened
        told, model = logged(world), world.coordinator.rounds.now.model
        world.restore("older", "coordinator")
        held, back = world.entries, world.coordinator.rounds.now
        assert back.model != model
        await world.turn()  # takes over, goes on, and opens the next round
        assert world.coordinator.rounds.now.model == back.model
        outcomes = [await device.visit() for device in devices]
        assert {one.kind for one in outcomes} == {"sent"}  # nobody is asked, nobody joins again
        await world.rounds(devices, 2)
        log = logged(world)
        assert log[: len(told)] == told
        assert log[len(told)] == ResumedLog(held, back.position.done).entry()
        numbers = [(one.serial, one.round) for one in manifests(world)]
        assert [serial for serial, _ in numbers] == list(range(len(numbers)))
        assert len({number for _, number in numbers}) == len(numbers)  # every draw of a device is a new one
        said = world.coordinator.about()["resumed"]
        assert said.startswith("resumed at model 1: this machine was restored from a copy with")
        terms = world.coordinator.rounds.terms
        assert (await check_log(world.network, COORDINATOR, terms)).resumed == 1

    asyncio.run(scenario())


def test_a_coordinator_goes_on_from_the_model_of_its_copy_bit_for_bit(world: Copied) -> None:
    """Sums of rounds that it does not know are no part of its model, and those it goes on with are whole."""

    async def scenario() -> None:
        devices = await played(world)
        world.restore("older", "coordinator")
        before = world.coordinator.rounds.now.server.model
        counted: list[Any] = []

        def noted(algorithm: Any, phase: str, round: int, server: Any, received: Any) -> Any:
            assert all((server.model[name] == array).all() for name, array in before.items())
            counted.append(received.count)
            return server_step(algorithm, phase, round, server, received)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("murmura.server.coordinator.rounds.server_step", noted)
            await world.rounds(devices, 1)
        assert counted == [len(devices)]

    asyncio.run(scenario())


def test_a_coordinator_of_a_new_folder_ends_and_any_copy_goes_on(world: Copied) -> None:
    async def scenario() -> None:
        devices = await played(world)
        known = len(world.aggregators["seed"].witness)
        (world.folder / "none").mkdir()
        world.restore("none", "coordinator")
        with pytest.raises(
            RunError,
            match=f"must have the {known} entries that {SEED} has seen, but has 0, and its key is another",
        ):
            await world.turn()
        world.restore("older", "coordinator")
        await world.rounds(devices, 1)

    asyncio.run(scenario())


def test_a_copy_from_before_the_terms_were_agreed_is_enough(world: Copied) -> None:
    async def scenario() -> None:
        world.copy("oldest")
        devices = await played(world)
        terms = world.coordinator.rounds.terms.hash
        world.clock.now += 1000
        world.restore("oldest", "coordinator")
        await world.turn()
        world.coordinator.order("start")
        assert world.coordinator.rounds.terms.hash == terms
        while len(world.coordinator.rounds.store.registered()) < len(devices):  # places are in no log
            for client, device in enumerate(devices):
                own = device.identity
                await register(world.network, COORDINATOR, own.terms, own.admission, own.token, client)
        await world.rounds(devices, 1)

    asyncio.run(scenario())


def test_one_that_does_not_look_is_silent_for_ever(world: Copied, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> list[bytes]:
        return []

    async def scenario() -> None:
        devices = await played(world)
        monkeypatch.setattr(TermsKeeper, "lacking", nothing)
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


def test_a_coordinator_waits_for_both_aggregators_before_it_takes_anything_over(
    world: Copied,
) -> None:
    async def scenario() -> None:
        devices = await played(world)
        known = len(world.aggregators["vector"].witness)
        world.restore("older", "coordinator", "seed")
        world.network.down.add(VECTOR)  # the seed aggregator alone knows no more than the coordinator
        for _ in range(3):
            await world.turn()
        assert "is down" in world.coordinator.rounds.trouble
        assert world.entries == 3
        world.network.down.clear()
        await world.rounds(devices, 1)
        assert world.entries > known

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


async def mirrored(world: Copied, path: Path) -> LogMirror:
    """Everything that was logged is in a mirror, and everything that a device has seen is in there."""
    made = LogMirror(path)
    await world.turn()
    size, _ = await made.look(world.network, COORDINATOR)
    assert size == world.entries
    return made


def test_all_three_restored_from_one_moment_go_on_with_a_mirror(world: Copied, tmp_path: Path) -> None:
    async def scenario() -> None:
        devices = await played(world)
        await mirrored(world, tmp_path / "mirror")
        await world.rounds(devices, 1)
        mirror = await mirrored(world, tmp_path / "mirror")  # what is new, behind what it has
        told = logged(world)
        world.restore("older", *MACHINES)
        world.servers.close()
        take_over_mirror(world.folder, mirror.path)
        world.start()
        await world.turn()
        assert {(await device.visit()).kind for device in devices} == {"sent"}
        await world.rounds(devices, 2)
        assert logged(world)[: len(told)] == told
        numbers = [one.round for one in manifests(world)]
        assert len(set(numbers)) == len(numbers)
        assert world.coordinator.about()["resumed"].startswith("resumed at model 1: ")

    asyncio.run(scenario())


def test_a_mirror_of_another_log_is_refused_and_nothing_is_written(world: Copied, tmp_path: Path) -> None:
    async def scenario() -> None:
        await played(world)
        mirror = await mirrored(world, tmp_path / "mirror")
        entries = (mirror.path / "entries").read_bytes()
        (mirror.path / "entries").write_bytes(entries.replace(b'"round":2', b'"round":7'))
        with pytest.raises(DataError, match="its log is not whole"):
            mirror.read()
        (mirror.path / "entries").write_bytes(entries[:-1])
        with pytest.raises(DataError, match="its log is not whole"):
            mirror.read()
        (mirror.path / "entries").write_bytes(entries + b"what a crash left behind the head")
        assert len(mirror.read()[0]) == world.entries
        other = Copied(tmp_path / "other", people(10), settings=TRAINING)
        await other.everyone()
        await other.turn()
        other.servers.close()
        before = (other.folder / "coordinator.db").read_bytes()
        with pytest.raises(RunError, match="must begin with the log of the copy, but has other entries"):
            take_over_mirror(other.folder, mirror.path)
        assert (other.folder / "coordinator.db").read_bytes() == before

    asyncio.run(scenario())


def test_a_mirror_follows_no_log_that_goes_back(world: Copied, tmp_path: Path) -> None:
    async def scenario() -> None:
        await played(world)
        mirror = await mirrored(world, tmp_path / "mirror")
        kept = mirror.read()
        world.restore("older", *MACHINES)
        await world.turn()
        with pytest.raises(GoneBackError):
            await mirror.look(world.network, COORDINATOR)
        assert mirror.read() == kept

    asyncio.run(scenario())


def test_a_copy_of_a_server_at_work_goes_on(world: Copied) -> None:
    async def scenario() -> None:
        devices = await world.everyone()
        await world.rounds(devices, 2)
        await world.turn()  # a round is open
        (world.folder / "older").mkdir()
        copy_folder(world.folder, world.folder / "older")
        found = ServerCopy.find(world.folder / "older")
        assert (found.role, found.entries, found.done) == ("coordinator", world.entries, 2)
        lines = await foreseen(world.network, found, None)
        assert lines[:2] == [f"{SEED} has {world.entries} entries.", f"{VECTOR} has {world.entries} entries."]
        assert lines[2].startswith("no machine that answers has more.")
        await world.rounds(devices, 2)
        lines = await foreseen(world.network, found, None)
        assert lines[-1].startswith("it takes over 2 entries and goes on from model 2. ")
        world.restore("older", "coordinator")
        await world.rounds(devices, 1)

    asyncio.run(scenario())
