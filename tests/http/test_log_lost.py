"""A log whose newest entries nobody has: every owner is asked once, with the reason; nothing is used again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.device.device import Device
from murmura.device.trust import TermsChangedError
from murmura.server import endpoints
from murmura.server.aggregator.aggregator import Aggregator, Role
from murmura.server.aggregator.commitments import LogWitness
from murmura.server.coordinator.takeover import UNKNOWN_NUMBERS
from murmura.server.dispatch import respond
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms, LostLog
from tests.faults.malice import logged
from tests.http.copied import MACHINES, TRAINING, Copied, played
from tests.http.network import people
from tests.http.own_devices import awake, settle

AGGREGATORS: tuple[Role, ...] = ("seed", "vector")


async def offered(world: Copied, entries: int) -> FederationTerms:
    """The coordinator says that nobody has more entries; its terms as it offers them to both aggregators."""
    world.coordinator.rounds.store.takeover.log_lost = entries
    return await confirmed(world)


async def confirmed(world: Copied) -> FederationTerms:
    """Both operators confirm what the coordinator offers, each by hand."""
    await world.turn()
    said = world.coordinator.rounds.trouble
    accepted = said.partition("--accept-terms ")[2][:64]
    assert accepted, said
    for role in AGGREGATORS:
        store = world.aggregators[role]._store
        key = world.coordinator.key.public
        one = Aggregator(role, store, world.clock, 1, key, accept=bytes.fromhex(accepted))
        world.aggregators[role] = one
        world.network.machines[f"http://{role}"] = partial(respond, one, endpoints.AGGREGATOR)
    await world.turn()
    return world.coordinator.rounds.terms


@pytest.fixture
def world(tmp_path: Path) -> Copied:
    return Copied(tmp_path, people(10), settings=TRAINING)


def agreed(device: Device, terms: FederationTerms) -> None:
    """What `murmura consent --accept` does, for a device in memory."""
    device.identity = replace(device.identity, terms=terms)
    if terms.lost is not None:
        device.storage.keep(device.storage.memory.ended(terms.lost))


def test_every_owner_is_asked_once_and_no_number_is_used_again(world: Copied) -> None:
    async def scenario() -> None:
        devices = await played(world)
        used = {round for device in devices for round, _ in device.storage.memory.exchanges}
        world.restore("older", *MACHINES)
        left = world.entries
        terms = await offered(world, left)
        assert terms.lost is not None
        assert terms.lost.entries == left
        for device in devices:
            kept = device.storage.memory
            with pytest.raises(
                TermsChangedError, match=f"the servers lost the log after entry {left} and all copies"
            ):
                await device.visit()
            assert device.storage.memory == kept
        for device in devices[1:]:
            agreed(device, terms)
        world.coordinator.order("start")
        outcomes = [await device.visit() for device in devices[1:]]
        assert {one.kind for one in outcomes} == {"sent"}
        with pytest.raises(TermsChangedError):  # who has not answered sends nothing
            await devices[0].visit()
        agreed(devices[0], terms)
        assert (await devices[0].visit()).kind == "sent"
        await world.rounds(devices, 2)
        again = {round for device in devices for round, _ in device.storage.memory.exchanges} - used
        assert min(again) >= UNKNOWN_NUMBERS
        entries = [entry.partition(b"\0") for entry in logged(world)]
        serials = [Manifest.decode(content).serial for kind, _, content in entries if kind == b"manifest"]
        assert len(set(serials)) == len(serials)
        assert "so every owner is asked" in world.coordinator.about()["resumed"]
        world.restore("older")  # all are started again, none is restored
        world.coordinator.rounds.store.takeover.log_lost = left  # said again it changes nothing
        await world.turn()
        assert world.coordinator.rounds.terms.hash == terms.hash

    asyncio.run(scenario())


def test_the_same_copy_lost_twice_asks_every_owner_twice_and_uses_other_numbers(world: Copied) -> None:
    async def scenario() -> None:
        devices = await played(world)
        found = list[LostLog]()
        for _ in range(2):
            world.restore("older", *MACHINES)
            terms = await offered(world, world.entries)
            world.coordinator.order("start")
            await world.turn()
            for device in devices:
                with pytest.raises(TermsChangedError, match="the servers lost the log"):
                    await device.visit()
                agreed(device, terms)
            await world.rounds(devices, 2)
            assert terms.lost is not None
            found.append(terms.lost)
            world.clock.now += 3600
        first, second = found
        assert first.root == second.root
        assert second.serial >= first.serial + 2

    asyncio.run(scenario())


def test_a_log_lost_before_its_first_round_is_taken_over_too(world: Copied) -> None:
    async def scenario() -> None:
        devices = [await world.join(client) for client in range(10)]
        world.copy("older")
        terms = await offered(world, world.entries)
        for device in devices:
            agreed(device, terms)
        world.restore("older", "coordinator")
        world.coordinator.order("start")
        await world.turn()
        assert terms.lost is not None
        assert world.coordinator.rounds.now.position.serial == terms.lost.serial
        assert {(await device.visit()).kind for device in devices} == {"sent"}

    asyncio.run(scenario())


def test_the_log_of_a_machine_that_has_it_is_not_lost(world: Copied) -> None:
    async def scenario() -> None:
        await played(world)
        world.restore("older", "coordinator", "seed")
        left = world.entries
        world.coordinator.rounds.store.takeover.log_lost = left
        with pytest.raises(RunError, match=f"--log-lost must be .*, but is {left}"):
            await world.turn()

    asyncio.run(scenario())


async def way_back(world: Copied) -> str:
    """A coordinator that has everything says that the log was lost, to have devices go back."""
    await played(world)
    world.restore("older", "coordinator")
    rounds = world.coordinator.rounds
    rounds.keeper._compared = True  # it does not want to know
    rounds.store.takeover.log_lost = world.entries
    await world.turn()
    return rounds.trouble


def test_an_aggregator_agrees_to_no_loss_of_what_it_has(world: Copied) -> None:
    async def scenario() -> None:
        said = await way_back(world)
        assert "nobody has the log after entry 3, but this aggregator has" in said

    asyncio.run(scenario())


def test_one_that_does_not_look_asks_only_its_operator(world: Copied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogWitness, "check_lost", lambda *_: None)

    async def scenario() -> None:
        assert "--accept-terms" in await way_back(world)

    asyncio.run(scenario())


def test_a_device_of_a_folder_is_offered_the_end_and_pins_it(world: Copied, tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = await settle(world, tmp_path / "me", 3)
        devices = [await world.join(client) for client in range(10) if client != 3]
        world.coordinator.order("start")
        world.copy("older")
        mine = awake(world, folder)
        await world.rounds([*devices, mine], 2)
        assert folder.memory.log[0] > world.entries - 2
        world.restore("older", *MACHINES)
        terms = await offered(world, world.entries)
        world.coordinator.order("start")
        await world.turn()
        with pytest.raises(TermsChangedError) as changed:
            await awake(world, folder).visit()
        folder.offer(changed.value.offered)
        before = folder.memory
        folder.accept(terms)
        assert terms.lost is not None
        assert folder.memory.log == (terms.lost.entries, terms.lost.root)
        assert (folder.memory.exchanges, folder.memory.serial) == (before.exchanges, before.serial)
        for device in devices:
            agreed(device, terms)
        assert (await awake(world, folder).visit()).kind == "sent"

    asyncio.run(scenario())


def test_terms_without_a_loss_spell_none(world: Copied) -> None:
    async def scenario() -> None:
        await world.everyone()
        terms = world.coordinator.rounds.terms
        assert b'"lost"' not in terms.encode()
        with pytest.raises(RefusedError, match="must be in canonical form"):
            FederationTerms.decode(terms.encode().replace(b'"method"', b'"lost":null,"method"'))
        ended = replace(terms, lost=LostLog(3, "aa" * 32, 9))
        assert FederationTerms.decode(ended.encode()).lost == ended.lost

    asyncio.run(scenario())


@pytest.mark.parametrize("role", AGGREGATORS)
def test_an_aggregator_lost_without_a_copy_has_every_owner_asked_once(world: Copied, role: Role) -> None:
    """Its keys are lost with it: somebody else could have put another machine in its place."""

    async def scenario() -> None:
        devices = await played(world)
        told = logged(world)
        (world.folder / "none").mkdir()
        world.restore("none", role)
        terms = await confirmed(world)
        await world.turn()
        for device in devices:
            with pytest.raises(TermsChangedError, match=f"{role}_aggregator.key"):
                await device.visit()
        for device in devices:
            agreed(device, terms)
        assert {(await device.visit()).kind for device in devices} == {"sent"}
        await world.rounds(devices, 1)
        assert logged(world)[: len(told)] == told
        assert len(world.aggregators[role].witness) >= len(told)

    asyncio.run(scenario())
