"""Aggregators restored from old copies, and a coordinator that makes use of it: replayed rounds, second sums.

What a machine has forgotten is in the log. Against an aggregator that does not look there, a round that is over
is opened again, and a sum of the opening is added up twice in one window.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.core.errors import RunError
from murmura.server.aggregator import commitments
from murmura.server.aggregator.commitments import LogWitness
from murmura.server.coordinator import witnesses
from murmura.server.coordinator.coordinator import Coordinator
from murmura.server.database import ServerDatabase, copy_database
from murmura.server.loopback import COORDINATOR, SEED, VECTOR
from murmura.wire.log import manifest_entry, model_entry, pack_entries
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import ServerKey
from murmura.wire.transport import ask
from tests.faults.malice import logged, ordered
from tests.faults.test_trust_counts import CHANNEL, SUMS, data
from tests.http.copied import TRAINING, Copied, played
from tests.http.network import entropy, people
from tests.http.test_log_lost import confirmed

AGGREGATORS = ("seed", "vector")


async def caught_up(world: Copied) -> None:
    """Both aggregators take over what their copies lack, and open nothing."""
    rounds = world.coordinator.rounds
    log = rounds.store.log
    await rounds._pair.sign_head(world.network, log, log.unsigned_head())


async def opened(world: Copied, manifest: Manifest) -> list[bool]:
    """Whether each aggregator collects for a round when a coordinator says so; a refusal leaves."""
    for url in (SEED, VECTOR):
        await ask(world.network, "POST", f"{url}/rounds", ordered(manifest, world.coordinator.key))
    found = (one._open for one in world.aggregators.values())
    return [one is not None and one.manifest.hash == manifest.hash for one in found]


async def forgotten_round(world: Copied) -> Manifest:
    """A round that was given up after both aggregators were copied; they are restored, and catch up."""
    devices = await world.everyone()
    await world.rounds(devices, 1)
    world.copy("older")
    await world.turn()
    live = world.coordinator.rounds.live
    assert live is not None
    world.clock.now = live.manifest.deadline + 1
    await world.turn()  # nobody came
    await world.rounds(devices, 1)
    world.restore("older", *AGGREGATORS)
    await caught_up(world)
    return live.manifest


def test_aggregators_restored_from_a_copy_open_no_round_that_the_log_has_left_behind(tmp_path: Path) -> None:
    world = Copied(tmp_path, people(10), settings=TRAINING)

    async def scenario() -> None:
        over = await forgotten_round(world)
        with pytest.raises(RefusedError, match=f"come after {over.serial + 1}, but is number {over.serial}"):
            await opened(world, over)

    asyncio.run(scenario())


def test_aggregators_that_do_not_look_into_the_log_open_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Copied(tmp_path, people(10), settings=TRAINING)
    monkeypatch.setattr(LogWitness, "serial", -1)
    monkeypatch.setattr(commitments, "_ended", lambda *_: [])

    async def scenario() -> None:
        assert await opened(world, await forgotten_round(world)) == [True, True]

    asyncio.run(scenario())


async def second_sum(world: Copied) -> tuple[Manifest, bytes]:
    """A sum of the opening is released; both aggregators forget that, and one more of the window is logged."""
    devices = await world.everyone()
    world.copy("older")
    await world.rounds(devices, 2)
    world.restore("older", *AGGREGATORS)
    await caught_up(world)
    first, last = (Manifest.decode(content) for content in _manifests(world))
    more = replace(first, serial=last.serial + 1, round=9, previous=last.hash.hex(), nonce="77" * 16)
    return more, pack_entries([manifest_entry(more.encode())])


def _manifests(world: Copied) -> list[bytes]:
    split = (entry.partition(b"\0") for entry in logged(world))
    return [content for kind, _, content in split if kind == b"manifest"]


async def appended(world: Copied, entries: bytes) -> None:
    message = len(logged(world)).to_bytes(8, "little") + entries
    for url in (SEED, VECTOR):
        await ask(world.network, "POST", f"{url}/log", world.coordinator.key.sign("log", message) + message)


WITH_PRIOR = {**TRAINING, "prior": True}


def test_restored_aggregators_release_no_second_sum_of_a_window(tmp_path: Path) -> None:
    world = Copied(tmp_path, people(10), settings=WITH_PRIOR)

    async def scenario() -> None:
        more, entries = await second_sum(world)
        await appended(world, entries)
        with pytest.raises(RefusedError, match="phase 'prior' has been released in window 0; two sums would"):
            await opened(world, more)

    asyncio.run(scenario())


def test_aggregators_that_forget_their_sums_add_up_a_second_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Copied(tmp_path, people(10), settings=WITH_PRIOR)
    monkeypatch.setattr(commitments, "_ended", lambda *_: [])

    async def scenario() -> None:
        more, entries = await second_sum(world)
        await appended(world, entries)
        assert await opened(world, more) == [True, True]

    asyncio.run(scenario())


def test_a_restored_coordinator_waits_for_the_next_window_and_asks_no_statistics_twice(tmp_path: Path) -> None:
    world = Copied(tmp_path, people(10), settings=WITH_PRIOR)

    async def scenario() -> None:
        devices = await world.everyone()
        world.copy("older")
        await world.rounds(devices, 2)
        world.restore("older", "coordinator")
        world.coordinator.order("start")
        for device in devices:
            await device.visit()
        for _ in range(3):
            await world.turn()
        assert world.coordinator.rounds.waits_until == world.coordinator.rounds.terms.windows.ends(0)
        before = len(logged(world))
        for _ in range(5):
            await world.turn()
        assert len(logged(world)) == before  # it does not try again and again
        world.clock.now = world.coordinator.rounds.waits_until + 1
        await world.turn()
        assert world.coordinator.rounds.published is not None

    asyncio.run(scenario())


@pytest.mark.parametrize("machines", [("coordinator",), ("seed",), ("vector",), ("coordinator", "vector")])
def test_an_invitation_that_was_taken_back_does_not_come_back_with_a_copy(
    tmp_path: Path, machines: tuple[str, ...]
) -> None:
    world = Copied(tmp_path, people(12), settings=TRAINING)

    async def scenario() -> None:
        devices = await played(world)
        own = devices[0].identity.admission
        assert own is not None
        keys = own.key.public
        signed = ServerKey(world.servers.admitter.private).sign("revocation", keys) + keys
        for url in (COORDINATOR, SEED, VECTOR):
            await ask(world.network, "POST", f"{url}/revocations", signed)
        world.restore("older", *machines)
        await world.rounds(devices[1:], 1)
        desks = [world.coordinator._desk, *(one.desk for one in world.aggregators.values())]
        for desk in desks:
            assert desk.revocations(world.coordinator.rounds.terms) == [signed]
        assert len(world.coordinator.rounds.store.registered()) == 11

    asyncio.run(scenario())


def test_an_aggregator_that_forgot_who_was_counted_waits_for_the_next_window(tmp_path: Path) -> None:
    world = Copied(tmp_path, data(), "fed-ease", SUMS, CHANNEL)

    async def scenario() -> None:
        devices = await world.everyone()
        world.copy("older")
        await world.one_round(devices)
        world.restore("older", "seed")
        await world.turn()
        assert "must know who was counted" in world.coordinator.rounds.trouble
        await world.turn()
        assert world.coordinator.rounds.waits_until == world.coordinator.rounds.terms.windows.ends(0)
        world.clock.now = world.coordinator.rounds.waits_until + 1
        await world.rounds(devices, 1)
        phases = [Manifest.decode(content).phase for content in _manifests(world)]
        assert phases[-2:] == phases[:2]  # everybody is counted again, then pairs are asked

    asyncio.run(scenario())


def test_what_an_earlier_admitter_has_taken_back_stops_nobody(tmp_path: Path) -> None:
    """Other terms name another admitter, who has not signed the old revocations: they hold where they are."""
    world = Copied(tmp_path, people(10), settings=TRAINING)

    async def scenario() -> None:
        devices = await played(world)
        own = devices[0].identity.admission
        assert own is not None
        keys = own.key.public
        signed = ServerKey(world.servers.admitter.private).sign("revocation", keys) + keys
        for url in (COORDINATOR, SEED, VECTOR):
            await ask(world.network, "POST", f"{url}/revocations", signed)
        after = ServerKey(entropy(77)(32))
        world.servers.admitter = after
        world.servers.setup = replace(world.servers.setup, admitter=after.public.hex())
        world.servers.close()
        world.start()
        terms = await confirmed(world)
        await world.turn()
        assert world.coordinator.rounds.trouble == ""
        assert not world.coordinator.rounds._pair.restored
        assert world.aggregators["seed"].desk.revocations(terms) == []
        assert keys in world.aggregators["seed"].desk._revoked

    asyncio.run(scenario())


async def invented(world: Copied, round: int, window: int) -> None:
    """The seed aggregator adds a round that nobody opened to its log; the coordinator starts again."""
    await played(world)
    last = Manifest.decode(_manifests(world)[-1])
    more = replace(last, serial=last.serial + 1, previous=last.hash.hex(), round=round, window=window)
    seed = world.aggregators["seed"]
    await caught_up(world)
    entries = [manifest_entry(more.encode()), model_entry(more.serial, bytes(32))]
    seed.witness.append(seed.terms, len(seed.witness), entries)
    world.servers.start_coordinator()


FOREVER = [(2**32 - 1, 0), (4, 10**6)]  # no round has a higher number; no window comes before


@pytest.mark.parametrize(("round", "window"), FOREVER)
def test_invented_entries_that_nobody_could_go_on_after_are_not_taken_over(
    tmp_path: Path, round: int, window: int
) -> None:
    world = Copied(tmp_path, people(10), settings=TRAINING)

    async def scenario() -> None:
        await invented(world, round, window)
        before = world.entries
        with pytest.raises(RunError, match=f"is of round {round} and window {window}"):
            await world.turn()
        assert world.entries == before
        assert len(world.aggregators["vector"].witness) == before

    asyncio.run(scenario())


@pytest.mark.parametrize(("round", "window"), FOREVER)
def test_a_coordinator_that_takes_them_over_never_opens_a_round_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, round: int, window: int
) -> None:
    world = Copied(tmp_path, people(10), settings=TRAINING)
    monkeypatch.setattr(witnesses, "_check_numbers", lambda *_: None)

    async def scenario() -> None:
        await invented(world, round, window)
        for _ in range(5):
            with suppress(RefusedError):
                await world.turn()
            world.clock.now += 61
            assert world.coordinator.rounds.published is None

    asyncio.run(scenario())


def test_an_old_backup_that_somebody_else_starts_shows_nobody_another_log(tmp_path: Path) -> None:
    """Two coordinators with one key: what both aggregators sign is one log, whoever appends to it."""
    world = Copied(tmp_path, people(10), settings=TRAINING)

    async def scenario() -> None:
        devices = await played(world)
        (tmp_path / "stolen").mkdir()
        copy_database(tmp_path / "older" / "coordinator.db", tmp_path / "stolen" / "coordinator.db")
        store = ServerDatabase(tmp_path / "stolen" / "coordinator.db", "coordinator")
        thief = Coordinator(world.setup, store, world.clock, entropy(9))
        await world.turn()
        seen = [await device.visit() for device in devices[:5]]
        for _ in range(3):
            await thief.rounds.advance(world.network)
            await world.turn()
            world.clock.now += 61
        logs = [rounds.store.log for rounds in (world.coordinator.rounds, thief.rounds)]
        heads = [log.head for log in logs if log.head is not None]
        longest = max((one.witness for one in world.aggregators.values()), key=len)
        assert all(longest.tree.root(head.size) == head.root for head in heads)
        assert {one.kind for one in seen} == {"sent"}
        for device in devices:
            with suppress(RefusedError):
                await device.visit()
            size, root = device.storage.memory.log
            assert longest.tree.root(size).hex() == root

    asyncio.run(scenario())
