"""A second release of the same sums, in the next window: it replaces the first once complete, and says how."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms.cooccurrence.release_differences import Release, ReleaseDifference
from murmura.core.contract import History
from murmura.device.device import Device
from murmura.device.folder import DeviceFolder
from murmura.device.visits import _Own
from murmura.server.commands.rounds import _awaited
from murmura.server.coordinator.public_log import CAME, Releases
from murmura.server.coordinator.setup import RoundTiming
from murmura.wire.refusals import RefusedError
from tests.http.network import World, people
from tests.http.own_devices import awake, settle
from tests.http.released_sums import CHANNEL, KNN, best, same_model, sums

LEAST = 2


async def renew(world: World) -> None:
    """The operator asks for another release; nothing is asked before the next window."""
    world.coordinator.order("renew")
    assert world.coordinator.about()["renews"]
    await world.turn()
    assert world.coordinator.rounds.live is None
    world.clock.now = world.coordinator.rounds.waits_until


async def played_by(world: World, devices: list[Device]) -> None:
    """Rounds that others, who are called too, stay away from."""
    for _ in range(10):
        await away(world, devices)
        if world.coordinator.about()["state"] == "finished":
            return
    raise AssertionError("it did not finish")


async def away(world: World, devices: list[Device]) -> None:
    """One such round."""
    await world.turn()
    for device in devices:
        await device.visit()
    world.clock.now += 61
    await world.turn()
    await world.turn()


@pytest.mark.slow
def test_a_second_release_is_of_the_histories_as_they_are_then(tmp_path: Path) -> None:
    """With the rows that were added since, it is the release of a federation that never made another one."""
    world, later = sums(tmp_path / "one"), sums(tmp_path / "other")

    def grown(rows: History) -> History:
        return History.private(np.union1d(rows.item, [4, 9]).astype(np.int32))

    async def scenario() -> None:
        devices = await world.everyone()
        await world.play(devices)
        first = world.coordinator.rounds.now.model
        for device in devices[:5]:
            device.rows = grown(device.rows)
        await renew(world)
        await world.play(devices)
        assert world.coordinator.rounds.now.model != first
        alone = await later.everyone()
        for device in alone[:5]:
            device.rows = grown(device.rows)
        await later.play(alone)

    asyncio.run(scenario())
    assert world.coordinator.rounds.now.model == later.coordinator.rounds.now.model
    told = [(one["phase"], one["window"]) for one in world.coordinator.history()[::-1]]
    assert told == [("counts", 0), ("pairs", 0), ("counts", 1), ("pairs", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fed-item-knn", "fed-ease"])
def test_the_first_release_ranks_until_the_second_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """For one that took part and for one that did not, though the coordinator is restarted between.

    One that shows its newest model, complete or not, would let devices rank with counts alone.
    """
    settings: dict[str, object] = {**KNN, "parts": 2} if method == "fed-item-knn" else {"least": LEAST}
    world = World(tmp_path, people(), method, settings, replace(CHANNEL, minimum_cohort=2))

    async def shown() -> list[list[int]]:
        return [await best(world, tmp_path / str(client), client) for client in (0, 11)]

    async def scenario() -> None:
        own = awake(world, await settle(world, tmp_path / "0", 0))
        devices = [own, *[await world.join(client) for client in range(1, 11)]]
        await settle(world, tmp_path / "11", 11)
        world.coordinator.order("start")
        await played_by(world, devices)
        first = await shown()
        for device in devices[:6]:
            device.rows = History.private(np.arange(0, 30, 3, dtype=np.int32))
        await renew(world)
        assert await shown() == first
        while world.coordinator.about()["state"] != "finished":
            assert world.coordinator.about()["renews"]
            world.start_coordinator()
            assert await shown() == first
            with monkeypatch.context() as patch:
                patch.setattr(Releases, "newest_model", lambda self, head: self._log.newest_model(head))
                assert (await shown() == first) == (world.coordinator.about()["rounds_done"] == 0)
            await away(world, devices)
        assert not world.coordinator.about()["renews"]
        assert (await shown())[1] != first[1]

    asyncio.run(scenario())


def test_the_operator_alone_is_told_of_a_count_that_leaps_against_the_last_release(tmp_path: Path) -> None:
    world = World(tmp_path, people(40, 30), "fed-item-knn", KNN, replace(CHANNEL, minimum_cohort=10))
    cold = int(world.data.item_counts.argmin())

    async def scenario() -> None:
        devices = await world.everyone()
        await world.play(devices)
        assert world.coordinator.status()["alarm"] == ""
        for device in devices:
            device.rows = History.private(np.union1d(device.rows.item, [cold]).astype(np.int32))
        await renew(world)
        await world.play(devices)
        grown = (
            f"item {cold} grew from {world.data.item_counts[cold]} to 40 owners: false histories look like "
            "this; nothing is changed"
        )
        assert world.coordinator.status()["alarm"] == grown
        assert "alarm" not in world.coordinator.about()

    asyncio.run(scenario())


def test_an_owner_is_told_that_the_first_release_still_ranks(tmp_path: Path) -> None:
    world = sums(tmp_path)
    told: list[dict[str, object]] = []

    async def scenario() -> None:
        await settle(world, tmp_path / "0", 0)
        devices = [awake(world, DeviceFolder(tmp_path / "0")), *[await world.join(n) for n in range(1, 12)]]
        world.coordinator.order("start")
        await world.play(devices)
        world.coordinator.order("renew")
        folder = DeviceFolder(tmp_path / "0")
        own = _Own(awake(world, folder), folder)
        assert (await own.renewed(5, told.append)) is True

    asyncio.run(scenario())
    assert [one["event"] for one in told] == ["renews", "recommended"]


def test_a_coordinator_that_says_nothing_of_releases_has_none_to_renew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the same protocol that was made before there were second releases."""
    world = sums(tmp_path)

    async def earlier(*_: object) -> dict[str, object]:
        said = world.coordinator.about()
        return {name: value for name, value in said.items() if name not in ("renews", "difference")}

    async def scenario() -> None:
        await settle(world, tmp_path / "0", 0)
        folder = DeviceFolder(tmp_path / "0")
        monkeypatch.setattr("murmura.device.visits.about", earlier)
        own = _Own(awake(world, folder), folder)
        assert (await own.renewed(5, lambda _: None)) is False

    asyncio.run(scenario())
    running = {"state": "running", "open": None, "terms": True, "devices": 9, "minimum": 2, "waits_until": 1.0}
    assert "asked in this release window, the next begins" in _awaited(running)


def two_releases(world: World) -> tuple[Release, Release]:
    """The second has one device more; what the coordinator has of each."""

    async def scenario() -> tuple[Release, Release]:
        devices = await world.everyone()
        await played_by(world, devices[:11])
        first = Release.of(world.coordinator.rounds.now.server)
        await renew(world)
        await world.play(devices)
        return first, Release.of(world.coordinator.rounds.now.server)

    return asyncio.run(scenario())


def test_two_releases_that_differ_by_one_person_are_her_items_and_her_pairs(tmp_path: Path) -> None:
    """The attack of whoever has both sums: nothing here protects against it, and the tool says so."""
    world = sums(tmp_path)
    first, second = two_releases(world)
    difference = ReleaseDifference(first, second, LEAST)
    own = world.rows(11).item
    assert np.flatnonzero(difference.counts).tolist() == own.tolist()
    items, grown = difference.pairs()
    hers = np.isin(items, own)
    expected = np.outer(hers, hers).astype(float)
    np.fill_diagonal(expected, 0)
    assert hers.sum() > 4
    np.testing.assert_array_equal(grown, expected)
    kept = int(hers.sum())
    said = world.coordinator.about()["difference"]
    assert said == difference.sentence()
    assert "this release counts 12 devices, the one before it 11" in said
    assert f"the counts of {len(own)} items changed; so did those of {kept * (kept - 1) // 2} pairs" in said
    assert said.endswith("if exactly one person differs between them, it is her items and her pairs.")


def test_what_came_in_and_went_out_is_counted_by_hand() -> None:
    counts = np.array([[5, 2, 3, 0], [4, 3, 2, 3]], np.int64)
    before, after = (Release(7 + n, one, None) for n, one in enumerate(counts))
    difference = ReleaseDifference(before, after, 3)
    assert (difference.came_in.tolist(), difference.went_out.tolist()) == ([1, 3], [2])
    assert "2 items came in and 1 went out of those that occur at least 3 times" in difference.sentence()
    assert "the counts of 4 items changed; whoever" in difference.sentence()


def test_a_first_release_has_nothing_to_differ_from(tmp_path: Path) -> None:
    world = sums(tmp_path)
    asyncio.run(played(world))
    assert world.coordinator.about()["difference"] == ""
    same_model(world)


async def played(world: World) -> None:
    await world.play(await world.everyone())


def test_a_second_release_that_fails_leaves_the_first(tmp_path: Path) -> None:
    """Its counts are told, its pairs are not: the next window begins anew, and tells apart from the first."""
    world = sums(tmp_path)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.play(devices)
        first = Release.of(world.coordinator.rounds.now.server)
        await renew(world)
        await world.one_round(devices)  # counts alone
        world.clock.now += world.timing.window
        await played_by(world, devices[:11])
        second = Release.of(world.coordinator.rounds.now.server)
        expected = ReleaseDifference(first, second, LEAST).sentence()
        assert world.coordinator.about()["difference"] == expected
        assert "counts 11 devices, the one before it 12" in expected

    asyncio.run(scenario())


def test_where_there_can_be_no_second_release_the_order_is_refused(tmp_path: Path) -> None:
    trained = World(tmp_path / "cfpl", people(), settings={"rounds": 1, "clients": "all"})
    for_ever = RoundTiming(round=60, hold=0, spread=0, window=0)
    only = World(tmp_path / "only", people(), "fed-item-knn", KNN, CHANNEL, for_ever)
    begun = sums(tmp_path / "begun")

    async def scenario() -> None:
        for world, sentence in (
            (trained, "only a federation without training rounds makes a second release"),
            (only, "a second release needs another window, but this one never ends"),
        ):
            await played(world)
            with pytest.raises(RefusedError, match=sentence):
                world.coordinator.order("renew")
        await begun.everyone()
        await begun.turn()
        with pytest.raises(RefusedError, match="a release is being made; another can follow"):
            begun.coordinator.order("renew")

    asyncio.run(scenario())


def test_the_operator_sees_when_the_next_release_begins(tmp_path: Path) -> None:
    world = sums(tmp_path)

    async def scenario() -> None:
        await played(world)
        assert _awaited(world.coordinator.status()) == ""
        world.coordinator.order("renew")
        await world.turn()

    asyncio.run(scenario())
    said = "; devices rank with the last release, the next begins 2023-11-15 22:13 UTC"
    assert _awaited(world.coordinator.status()) == said


@pytest.mark.slow
def test_a_release_without_her_waits_until_enough_have_come_or_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four are the minimum. Made at once, with the check taken out, the second release tells her list."""
    world, careless = sums(tmp_path / "one"), sums(tmp_path / "other")

    async def scenario(world: World, leaving: int) -> list[Device]:
        devices = await world.everyone()
        await world.play(devices)
        for device in devices[12 - leaving :]:
            world.coordinator.leave(device.identity.token)
        return devices[: 12 - leaving]

    async def refused() -> None:
        rest = await scenario(world, 1)
        sentence = (
            "1 left and 0 came, but 4 must: the difference of the two releases would tell of those who left"
        )
        for _ in range(2):
            with pytest.raises(RefusedError, match=sentence):
                world.coordinator.order("renew")
            world.start_coordinator()  # it remembers how many, and nothing of whom
        for device in rest[9:]:
            world.coordinator.leave(device.identity.token)
        with pytest.raises(RefusedError, match="3 left and 0 came"):
            world.coordinator.order("renew")
        await world.join(11)
        await renew(world)

    async def read() -> None:
        monkeypatch.setattr(Releases, "_since", lambda *_: 0)
        rest = await scenario(careless, 1)
        first = Release.of(careless.coordinator.rounds.now.server)
        await renew(careless)
        await played_by(careless, rest)
        second = Release.of(careless.coordinator.rounds.now.server)
        lost = ReleaseDifference(second, first, LEAST).counts
        assert np.flatnonzero(lost).tolist() == careless.rows(11).item.tolist()

    asyncio.run(refused())
    asyncio.run(read())


def test_who_comes_alone_and_noise_do_not_hold_a_release_up(tmp_path: Path) -> None:
    world = sums(tmp_path)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.play(devices)
        rounds = world.coordinator.rounds
        at, windows, releases = rounds.now.position, rounds.terms.windows, rounds.store.releases
        releases._store.write(releases.moved(CAME))
        assert releases.renewed(at, windows, 4).done == 0
        world.coordinator.leave(devices[0].identity.token)
        with pytest.raises(RefusedError, match="1 left and 1 came"):
            releases.renewed(at, windows, 4)
        assert releases.renewed(at, windows, 0).done == 0  # noise covers it

    asyncio.run(scenario())
