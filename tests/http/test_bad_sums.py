"""Sums over the wire that cannot be: no times, too many items, broken bounds, second reports; nothing lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence, layout
from murmura.core.arrays import Longs
from murmura.core.consent import Permission
from murmura.core.contract import History
from murmura.core.errors import MemoryLimitError
from murmura.device import device as device_module
from murmura.device.device import Device, VisitOutcome
from murmura.engine.visit import Visit, visit
from murmura.kernels.proofs.field import MODULUS, Elements
from murmura.server.aggregator.collection import CollectedRound
from murmura.wire import wire
from tests.http.network import World, people
from tests.http.own_devices import awake, settle
from tests.http.released_sums import CHANNEL, KNN, best, same_model, sums


def test_a_device_without_times_says_so_and_stays_out(tmp_path: Path) -> None:
    world = World(tmp_path, people(), "fed-item-knn", {**KNN, "recency": 1.0}, CHANNEL)

    async def scenario() -> VisitOutcome:
        devices = await world.everyone()
        await world.turn()
        return await devices[0].visit()

    outcome = asyncio.run(scenario())
    assert (outcome.kind, outcome.phase) == ("declined", "counts")
    assert "recency must be 0 where rows have no times" in outcome.why


def test_items_that_the_coordinator_has_no_room_for_are_refused_before_anybody_sends(tmp_path: Path) -> None:
    """It is known before the first exchange: its operator is told, and nobody is asked to send."""
    figure = "memory_gb must be at least 0.1 for the weights between 30 items, but it is 1e-06"
    remedy = "raise it, or raise least, 2 now, for fewer items"
    with pytest.raises(MemoryLimitError, match=f"{re.escape(figure)}; {remedy}"):
        World(tmp_path, people(), "fed-item-knn", {**KNN, "memory_gb": 1e-6}, CHANNEL)


def test_a_second_report_of_one_device_is_not_counted(tmp_path: Path) -> None:
    """It was put back from an old copy and knows nothing of its first report, of counts or of pairs."""
    world = sums(tmp_path)
    twice: list[VisitOutcome] = []

    async def again(device: Device) -> None:
        before = device.storage.memory
        assert (await device.visit()).kind == "sent"
        after = device.storage.memory
        device.storage.keep(before)
        device._etag = ""
        twice.append(await device.visit())
        device.storage.keep(after)

    async def scenario() -> None:
        devices = await world.everyone()
        for _ in ("counts", "pairs"):
            await world.turn()
            for device in devices[1:-1]:
                await device.visit()
            await again(devices[0])
            await devices[-1].visit()
            await world.turn()

    asyncio.run(scenario())
    assert [one.phase for one in twice] == ["counts", "pairs"]
    assert {one.kind for one in twice} == {"refused"}
    assert all(re.match("another share was accepted under this report id before", one.why) for one in twice)
    assert [one["reports"] for one in world.coordinator.history()] == [12, 12]
    same_model(world)


Lie = Callable[[Elements, Longs], Elements]  # the numbers of a sum, the counts: what is added to them


def five_more(total: Elements, counts: Longs) -> Elements:
    return np.full(len(total), 5, np.uint64)


def five_less(total: Elements, counts: Longs) -> Elements:
    return np.full(len(total), MODULUS - 5, np.uint64)


def above_a_counter(total: Elements, counts: Longs) -> Elements:
    """A counter one above its bound, while its word has room for it."""
    pairs = layout(counts, 2)
    G = pairs.pairs.unpack(total)
    for a, bound in enumerate(pairs.counts.tolist()):
        raised = np.zeros_like(G)
        raised[a, a + 1] = raised[a + 1, a] = bound + 1 - G[a, a + 1]
        more: Elements = pairs.pairs.pack_sums(raised)
        if pairs.pairs.cut(total + more) == 1:
            return more
    raise AssertionError("no such counter")


def above_all_counters(total: Elements, counts: Longs) -> Elements:
    """Every word is one that no counters have."""
    return np.full(len(total), 2**60, np.uint64)


def bending(monkeypatch: pytest.MonkeyPatch, phase: str, lie: Lie) -> None:
    """The next sum of this phase has a half to which its aggregator has added: no device can do that."""
    whole, told, counts = CollectedRound.sum, list[int](), np.bincount(people().item, minlength=30)
    halves: dict[int, Any] = {}

    def bent(self: CollectedRound, ids: list[bytes], least: int) -> Any:
        half: Any = whole(self, ids, least)
        halves[self.kind] = half
        if self.kind != wire.VECTOR or self.phase.name != phase or told:
            return half
        told.append(1)
        more = lie(self.chain.add_up(halves.values()), counts.astype(np.int64))
        return self.chain.add_up((half, more))

    monkeypatch.setattr(CollectedRound, "sum", bent)


@pytest.mark.parametrize(("lie", "counters"), [(above_a_counter, "but 1"), (above_all_counters, "but 124")])
def test_pairs_above_a_bound_are_cut_and_the_next_release_is_honest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Lie, counters: str
) -> None:
    world = sums(tmp_path)

    async def scenario() -> None:
        devices = await world.everyone()
        bending(monkeypatch, "pairs", lie)
        await world.play(devices)
        assert [one["state"] for one in world.coordinator.history()] == ["committed", "committed"]
        said = world.coordinator.history()[0]["reason"]
        assert f"{counters} of its counters were above the count of their rarer item" in said
        assert world.coordinator.about()["breach"] == world.coordinator.history()[0]["reason"]
        for _ in range(3):
            await world.one_round(devices)
        assert len(world.coordinator.history()) == 2  # nothing is asked again in this window
        world.coordinator.order("renew")
        await world.one_round(devices)
        world.clock.now = world.coordinator.rounds.waits_until
        await world.play(devices)
        assert world.coordinator.about()["breach"] == ""

    asyncio.run(scenario())
    same_model(world)


@pytest.mark.parametrize(("lie", "by"), [(five_more, 5), (five_less, -5)])
def test_counts_are_cut_to_the_nearest_that_so_many_devices_can_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Lie, by: int
) -> None:
    """Both aggregators work out the same."""
    world = sums(tmp_path)

    async def scenario() -> None:
        devices = await world.everyone()
        bending(monkeypatch, "counts", lie)
        await world.play(devices)

    asyncio.run(scenario())
    true = np.bincount(world.data.item, minlength=30).astype(np.int64)
    counts = world.coordinator.rounds.now.server.model["counts"][:, 0].astype(np.int64)
    np.testing.assert_array_equal(
        counts, np.clip(true + by, 0, 12) if by > 0 else np.where(true < 5, 12, true - 5)
    )
    assert [one["state"] for one in world.coordinator.history()] == ["committed", "committed"]
    impossible = not 0 <= (true + by).min() <= (true + by).max() <= 12
    assert world.coordinator.about()["breach"].startswith("breach: ") == impossible


def lying(monkeypatch: pytest.MonkeyPatch, lie: Lie) -> None:
    """The next device that is asked does not send its own numbers."""
    told: list[int] = []

    def lies(method: Cooccurrence, *rest: object) -> Visit:
        made = visit(method, *rest)  # type: ignore[arg-type]
        if told:
            return made
        told.append(1)
        assert made.vector is not None
        return replace(made, vector=made.vector + lie(made.vector, made.vector))

    monkeypatch.setattr(device_module, "visit", lies)


def no_devices(total: Elements, counts: Longs) -> Elements:
    return np.where(np.arange(len(total)) == 0, 2**64 - 12, 0).astype(np.uint64)


@pytest.mark.parametrize("lie", [five_more, five_less, no_devices])
def test_where_the_server_reads_updates_it_leaves_out_who_breaks_the_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    world = sums(tmp_path, channel=replace(CHANNEL, channel="readable"))

    async def scenario() -> list[VisitOutcome]:
        devices = await world.everyone()
        lying(monkeypatch, lie)
        await world.turn()
        outcomes = [await device.visit() for device in devices]
        world.clock.now += 61
        await world.turn()
        return outcomes

    outcomes = asyncio.run(scenario())
    assert [one.kind for one in outcomes].count("sent") == 11
    assert "must keep the bounds of one device" in next(one.why for one in outcomes if one.kind != "sent")
    (counts,) = world.coordinator.history()
    assert (counts["state"], counts["reports"]) == ("committed", 11)
    assert "place 0 was left out" in counts["reason"]


def test_who_was_not_counted_sends_no_pairs_and_ranks_all_the_same(tmp_path: Path) -> None:
    world = sums(tmp_path)

    async def scenario() -> list[int]:
        own = await settle(world, tmp_path / "0", 0)
        late = awake(world, own)
        rest = [await world.join(client) for client in range(1, 12)]
        world.coordinator.order("start")
        await world.turn()
        assert {(await device.visit()).kind for device in rest} == {"sent"}
        world.clock.now += 61
        await world.turn()
        await world.turn()
        before = late.cache.bytes_down
        outcome = await late.visit()
        assert (outcome.kind, outcome.why) == ("declined", "this device was not counted in phase 'counts'")
        assert late.cache.bytes_down - before == len(world.setup.description.encode())  # no counts either
        for device in rest:
            assert (await device.visit()).kind == "sent"
        world.clock.now += 61
        await world.turn()
        return await best(world, tmp_path / "0", 0)

    assert len(asyncio.run(scenario())) == 5
    assert [one["reports"] for one in world.coordinator.history()] == [11, 11]


def test_every_item_or_none_is_a_proper_upload(tmp_path: Path) -> None:
    world = sums(tmp_path)

    async def scenario() -> None:
        devices = await world.everyone()
        everything, nothing = np.arange(30, dtype=np.int32), np.zeros(0, np.int32)
        devices[0].rows, devices[1].rows = History.private(everything), History.private(nothing)
        silent = await shy(world, devices)
        await world.turn()
        outcomes = [[await device.visit() for device in devices]]
        await world.turn()
        await world.turn()
        outcomes.append([await device.visit() for device in devices])
        await world.turn()
        for each in outcomes:
            assert {one.kind for one in each} == {"sent"}
            assert len({one.bytes for one in each}) == 1  # of one length for all
        assert (silent.storage.memory.sent, devices[1].storage.memory.sent) == ((), ())

    asyncio.run(scenario())
    counts = world.coordinator.rounds.now.server.model["counts"][:, 0]
    own = [world.rows(client).item for client in range(3, 12)]
    expected = 1 + np.bincount(np.concatenate(own), minlength=30)
    np.testing.assert_array_equal(counts, expected)
    assert world.coordinator.about()["state"] == "running"
    asyncio.run(world.turn())
    assert world.coordinator.about()["state"] == "finished"


async def shy(world: World, devices: list[Device]) -> Device:
    """The third device's owner shares nothing at all."""
    devices[2].storage.allowed = Permission(pi=0.0)  # type: ignore[union-attr]
    return devices[2]
