"""Counts that a sum has told, over the wire: what devices fetch, who may go on, and what ranks in the end."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.algorithms import ALGORITHMS, algorithm
from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence
from murmura.algorithms.preset import Preset
from murmura.core.channel import ChannelSettings
from murmura.core.contract import FederationInfo, Phase
from murmura.core.message import released_counts_bytes
from murmura.device.download_cache import DownloadCache
from murmura.device.trust import check_log
from murmura.server.described import describe_federation
from murmura.server.loopback import COORDINATOR
from murmura.wire import wire
from murmura.wire.refusals import RefusedError
from tests.http.network import SEEDED, World, people
from tests.http.own_devices import awake, settle
from tests.http.released_sums import CHANNEL, KNN, best, same_model, simulated, sums


@pytest.mark.parametrize(
    "channel", [CHANNEL, replace(CHANNEL, channel="readable")], ids=lambda one: one.channel
)
def test_devices_rank_in_the_end_as_the_simulation_does(tmp_path: Path, channel: ChannelSettings) -> None:
    """One that took part, and one that comes when all is over."""
    world = sums(tmp_path, channel=channel)

    async def scenario() -> list[list[int]]:
        own = await settle(world, tmp_path / "0", 0, readable=True)
        rest = [await world.join(client) for client in range(1, 12)]
        world.coordinator.order("start")
        await world.play([awake(world, own), *rest])
        return [await best(world, tmp_path / str(client), client) for client in (0, 5)]

    lists = asyncio.run(scenario())
    same_model(world)
    expected = simulated(world).recommend(np.array([0, 5], np.int32), 5).item
    assert lists == expected.tolist()


class _CountsAlone(Cooccurrence):
    """The counts are released by the last exchange there is."""

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        return (replace(super().phases(info)[0], returns=True),)


def test_a_model_with_counts_that_no_manifest_names_is_read_too(tmp_path: Path) -> None:
    preset = Preset("counts-alone", _CountsAlone, "", parts=())
    with ALGORITHMS.also(preset.name, preset):
        world = World(tmp_path, people(), preset.name, {"ease": 1.0, "least": 2, "discount": 0.1}, CHANNEL)

        async def scenario() -> list[int]:
            own = await settle(world, tmp_path / "0", 0)
            rest = [await world.join(client) for client in range(1, 12)]
            world.coordinator.order("start")
            await world.play([awake(world, own), *rest])
            return await best(world, tmp_path / "0", 0)

        shown = asyncio.run(scenario())
        assert world.coordinator.rounds.now.counts is not None
        assert shown == simulated(world).recommend(np.array([0], np.int32), 5).item[0].tolist()


@pytest.mark.parametrize("items", [1, 9, 10, 999, 1000, 123_456])
def test_the_tally_knows_the_length_of_published_counts(items: int) -> None:
    content = wire.pack_arrays({"counts": np.zeros(items, np.uint32)})
    assert released_counts_bytes(items) == len(content)


def test_a_visit_fetches_the_counts_and_no_model_it_does_not_receive(tmp_path: Path) -> None:
    world = sums(tmp_path)

    async def scenario() -> tuple[int, list[str]]:
        devices = await world.everyone()
        await world.one_round(devices)
        await world.turn()
        world.network.log.clear()
        before = devices[3].cache.bytes_down
        assert (await devices[3].visit()).kind == "sent"
        fetched = [url for method, url, _ in world.network.log if method == "GET" and "/m/" in url]
        return devices[3].cache.bytes_down - before, fetched

    down, fetched = asyncio.run(scenario())
    live = world.coordinator.rounds.live
    assert live is not None
    assert live.manifest.counts is not None
    assert (down, live.manifest.counts.bytes) == (released_counts_bytes(30), released_counts_bytes(30))
    assert fetched == [f"{COORDINATOR}/m/{live.manifest.counts.hash}"]
    found = simulated(world)
    plan, (first, second) = found.plan, found.ledger.lines
    end = plan.channel.downloads(plan.algorithm.publishes(plan.info)).model_bytes(len(plan.info.listed))
    # an empty message is counted as its header in both; the final model is fetched by everyone
    assert (first.visits, second.visits) == (12, 12)
    assert second.bytes_down - first.bytes_down == 12 * (down + end)


def test_a_federation_goes_on_where_it_was_restarted_between_its_sums(tmp_path: Path) -> None:
    world = sums(tmp_path)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.one_round(devices)
        world.start_coordinator()
        world.start_aggregator("seed")
        world.start_aggregator("vector")
        await world.turn()
        world.start_coordinator()  # while the pairs are asked
        await world.play(devices)
        found = await check_log(world.network, COORDINATOR, world.coordinator.rounds.terms)
        assert (found.manifests, found.models) == (2, 2)

    asyncio.run(scenario())
    same_model(world)
    assert [one["state"] for one in world.coordinator.history()] == ["committed"] * 2


def test_a_new_window_begins_with_the_counts_again(tmp_path: Path) -> None:
    """Whom the pairs ask must have been counted in their window: another time brings both sums anew."""
    world = sums(tmp_path)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.one_round(devices)
        assert world.coordinator.rounds.now.position.done == 1
        world.clock.now += world.timing.window
        await world.play(devices)

    asyncio.run(scenario())
    told = [(one["phase"], one["window"], one["state"]) for one in world.coordinator.history()[::-1]]
    assert told == [("counts", 0, "committed"), ("counts", 1, "committed"), ("pairs", 1, "committed")]
    same_model(world)


def test_a_rollback_to_the_counts_asks_for_both_sums_in_the_next_window(tmp_path: Path) -> None:
    world = sums(tmp_path)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.play(devices)
        counts = world.coordinator.rounds.now.counts
        world.coordinator.order("pause")
        world.coordinator.rollback("1")
        assert world.coordinator.rounds.now.counts == counts
        world.coordinator.order("start")
        await world.turn()
        assert world.coordinator.rounds.live is None  # the pairs of this window are out
        world.clock.now += world.timing.window
        await world.play(devices)

    asyncio.run(scenario())
    phases = [one["phase"] for one in world.coordinator.history()[::-1]]
    assert phases == ["counts", "pairs", "counts", "pairs"]
    same_model(world)


def test_counts_in_the_description_of_a_method_that_sums_them_up_are_refused(tmp_path: Path) -> None:
    told = np.full(30, 12, np.int64)
    method = algorithm("fed-item-knn")(**KNN)
    described = describe_federation(people(), method, SEEDED)
    assert described.info.counts is None  # whatever the data says
    false = replace(described, info=replace(described.info, counts=told))
    world = sums(tmp_path)
    with pytest.raises(RefusedError, match="sums up the counts of items, must have none, but has some"):
        replace(world.setup, description=false).itinerary()

    async def scenario() -> None:
        await world.servers.agree()
        terms, content = world.coordinator.rounds.terms, false.encode()
        name = hashlib.sha256(content)
        rule = replace(terms.catalogue, description=name.hexdigest(), bytes=len(content))
        lied = replace(terms, catalogue=rule)
        blobs = world.coordinator._store
        blobs.write([("INSERT INTO blobs VALUES (?, ?)", (name.digest(), content))])
        with pytest.raises(RefusedError, match="must have none, but has some; take no part"):
            await DownloadCache(COORDINATOR, world.network, lied).description()
        agreement = world.aggregators["seed"].agreement
        agreement._terms = lied
        with pytest.raises(RefusedError, match="must have none, but has some"):
            agreement.take_description(name.digest(), content)

    asyncio.run(scenario())


def test_parts_of_the_pairs_are_made_by_the_same_counts(tmp_path: Path) -> None:
    world = World(tmp_path, people(), "fed-ease", {"least": 2, "parts": 2}, CHANNEL)

    async def scenario() -> None:
        await world.play(await world.everyone())

    asyncio.run(scenario())
    same_model(world)


def test_who_has_a_model_from_before_the_counts_gets_the_whole(tmp_path: Path) -> None:
    """It holds other tables, so no row of it is known."""
    world = sums(tmp_path)

    async def scenario() -> None:
        devices = await world.everyone()
        earlier = world.coordinator.rounds.now.model
        await world.turn()
        for device in devices:
            await device.visit()
        await world.turn()
        now = world.coordinator.rounds.now
        assert now.model != earlier
        assert now.counts is not None
        assert now.changes == ()
        name = bytes.fromhex(now.model)
        content = world.coordinator.since(name, bytes.fromhex(earlier))
        assert content == world.coordinator.blob(name)
        assert len(content) == now.model_bytes

    asyncio.run(scenario())
