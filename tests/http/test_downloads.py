"""What devices download is what a simulation counts, byte by byte; and nobody is led to another model."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from murmura.algorithms import algorithm
from murmura.core.channel import ChannelSettings
from murmura.device import download_cache
from murmura.device.device import Device
from murmura.device.download_cache import DownloadCache
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.server.loopback import COORDINATOR, Loopback
from murmura.testing.checks import assert_same_bits, assert_same_ledger
from murmura.wire.manifest import Download, Manifest
from murmura.wire.refusals import RefusedError
from tests.http.network import SEEDED, World, people

FEW: dict[str, object] = {"rounds": 8, "clients": 3}
WAYS: list[tuple[str, dict[str, object], dict[str, object]]] = [
    ("cfpl", FEW, {}),
    ("cfpl", FEW, {"block": "core", "core": 3, "download": "int8"}),
    ("cfpl", FEW, {"block": "half", "download": "float16"}),
    ("cfpl", {**FEW, "criteria": "dataset_size"}, {"block": "core", "core": 3}),
    ("fcf", FEW, {"channel": "readable", "download": "int8"}),
]


def world_of(folder: Path, method: str, settings: dict[str, object], channel: dict[str, object]) -> World:
    chosen = ChannelSettings(**{"channel": "secure-sum", "minimum_cohort": 1, **channel})  # type: ignore[arg-type]
    return World(folder, people(), method, settings, chosen)


def simulated(world: World, runtime: Any) -> FederatedModel:
    preset = algorithm(world.method)(**world.settings)
    plan = Plan(preset.algorithm(), world.data, preset.schedule(), seed=SEEDED, channel=world.channel)
    return fit(plan, runtime=runtime)


async def newest(world: World, devices: list[Device]) -> None:
    """Everybody fetches the model that the last round led to."""
    manifest = devices[0].manifest
    assert manifest is not None
    now = world.coordinator.rounds.now
    wanted = replace(manifest, model=Download(now.model, now.model_bytes), changes=[])
    for device in devices:
        await device.cache.model(wanted)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "settings", "channel"), WAYS)
def test_devices_download_the_bytes_that_a_simulation_counts(
    tmp_path: Path, method: str, settings: dict[str, object], channel: dict[str, object]
) -> None:
    world, down = world_of(tmp_path, method, settings, channel), [0, 0, 0]

    async def scenario() -> None:
        devices = await world.everyone()
        for device in devices:
            await device.cache.description()
        down[0] = sum(device.cache.bytes_down for device in devices)
        await world.play(devices)
        down[1] = sum(device.cache.bytes_down for device in devices)
        await newest(world, devices)
        down[2] = sum(device.cache.bytes_down for device in devices)

    asyncio.run(scenario())
    fitted, now = simulated(world, InProcess(path="plain")), world.coordinator.rounds.now.server.model
    got = world.channel.as_downloaded(now, fitted.plan.algorithm.publishes(fitted.plan.info), world.info.listed)
    assert_same_bits(got, fitted.model, "model")
    assert down[1] - down[0] == fitted.ledger.totals["bytes_down"]
    assert down[2] - down[1] == fitted.ledger.final_bytes
    assert_same_ledger(simulated(world, Loopback()).ledger, fitted.ledger)
    if "block" in channel:  # otherwise a row that is left alone is seldom
        info, publishes = fitted.plan.info, fitted.plan.algorithm.publishes(fitted.plan.info)
        whole = world.channel.downloads(publishes).model_bytes(len(info.listed))
        assert down[1] - down[0] < 8 * 3 * whole
    assert any("/since/" in url for _, url, _ in world.network.log)


CORE: dict[str, object] = {"block": "core", "core": 4}


def two_rounds_behind(world: World) -> tuple[DownloadCache, Manifest]:
    """A device's cache with an earlier model, and the manifest of a round whose model it lacks."""

    async def scenario() -> tuple[DownloadCache, Manifest]:
        devices = await world.everyone()
        for _ in range(3):  # the counts, and two rounds
            await world.turn()
            for device in devices:
                await device.visit()
            await world.turn()
        earlier = devices[0].cache._model
        await world.play(devices)
        cache = DownloadCache(COORDINATOR, world.network, world.coordinator.rounds.terms)
        cache._model, now = earlier, world.coordinator.rounds.now
        assert devices[0].manifest is not None
        await cache.description()
        return cache, replace(devices[0].manifest, model=Download(now.model, now.model_bytes), changes=[])

    return asyncio.run(scenario())


def differs(world: World, model: Any) -> bool:
    """Whether a model is another than the coordinator's, for items on offer."""
    there = world.coordinator.rounds.now.server.model
    return any((model[name][world.info.listed] != there[name][world.info.listed]).any() for name in there)


def test_a_coordinator_that_was_restarted_still_knows_what_changed(tmp_path: Path) -> None:
    world = world_of(tmp_path, "cfpl", {"rounds": 5, "clients": "all"}, CORE)
    cache, wanted = two_rounds_behind(world)
    world.start_coordinator()
    before = cache.bytes_down
    assert not differs(world, asyncio.run(cache.model(wanted)))
    assert 0 < cache.bytes_down - before < wanted.model.bytes


def test_who_has_a_model_that_nobody_knows_gets_the_whole(tmp_path: Path) -> None:
    world = world_of(tmp_path, "cfpl", {"rounds": 5, "clients": "all"}, CORE)
    cache, wanted = two_rounds_behind(world)
    cache._model = "ab" * 32, {}
    before = cache.bytes_down
    assert not differs(world, asyncio.run(cache.model(wanted)))
    assert cache.bytes_down - before == wanted.model.bytes


@pytest.mark.parametrize("checked", [True, False])
def test_changes_that_lead_elsewhere_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: bool
) -> None:
    """A coordinator that wants one device to train on a model of its own; without the check it does."""
    world = world_of(tmp_path, "cfpl", {"rounds": 5, "clients": "all"}, CORE)
    cache, wanted = two_rounds_behind(world)
    honest, name = world.coordinator.since, bytes.fromhex(wanted.model.hash)

    def lying(name: bytes, base: bytes) -> bytes:
        content = honest(name, base)
        assert content[:2] == b"mc"
        return content[:-1] + bytes([content[-1] ^ 1])

    monkeypatch.setattr(world.coordinator, "since", lying)
    if checked:
        with pytest.raises(RefusedError, match="leads elsewhere"):
            asyncio.run(cache.model(wanted))
        return
    whole = world.coordinator.blob(name)
    monkeypatch.setattr(download_cache, "encode_model", lambda *_: whole)
    assert differs(world, asyncio.run(cache.model(wanted)))


def test_a_path_that_names_no_hash_is_refused(tmp_path: Path) -> None:
    world = world_of(tmp_path, "cfpl", {"rounds": 1}, {})

    async def scenario() -> None:
        await world.everyone()
        name = world.coordinator.rounds.now.model
        reply = await world.network("GET", f"{COORDINATOR}/m/{name}/since/{'0' * 64}", b"", {})
        assert len(reply.body) == world.coordinator.rounds.now.model_bytes
        for path in (f"{name}/since/xyz", f"xyz/since/{name}", f"{'0' * 64}/since/{name}"):
            assert (await world.network("GET", f"{COORDINATOR}/m/{path}", b"", {})).status in (400, 404)

    asyncio.run(scenario())
