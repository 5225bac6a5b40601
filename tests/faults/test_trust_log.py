"""A past or a model of one's own: skipped serials, invented manifests, two devices that are shown two things.

What is not in the log that both aggregators have signed is refused; against a device that does not look, a
model made for it alone is trained on and answered.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.core.codec import encode_model
from murmura.device import trust
from murmura.device.device import Device
from murmura.server.loopback import COORDINATOR, SEED, VECTOR
from murmura.wire.log import LoggedModel, manifest_entry, model_entry, pack_entries
from murmura.wire.manifest import Download, Manifest, SignedManifest
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import check_signature
from murmura.wire.transport import HttpReply, ask
from tests.faults.malice import HeldKeys, logged, ordered, uploads
from tests.http.network import World, people

TRAINING: dict[str, object] = {"rounds": 3, "clients": "all", "prior": False}


async def one_round(world: World) -> tuple[Device, Manifest]:
    """Everybody has seen manifest 0; the manifest of the round that is open now, which nobody has seen."""
    devices = await world.everyone()
    await world.one_round(devices)
    await world.turn()
    live = world.coordinator.rounds.live
    assert live is not None
    assert live.manifest.serial == 1
    world.network.log.clear()
    return devices[0], live.manifest


def model_of_its_own(world: World) -> tuple[Download, bytes]:
    """A model that only the victim is shown: every item of hers would move another way."""
    rounds = world.coordinator.rounds
    arrays = {name: array + 0.5 for name, array in rounds.now.server.model.items()}
    downloads = world.channel.downloads(rounds.itinerary.algorithm.publishes(world.info))
    content = encode_model(arrays, downloads, world.info.listed)
    name = hashlib.sha256(content)
    world.coordinator._store.write([("INSERT INTO blobs VALUES (?, ?)", (name.digest(), content))])
    return Download(name.hexdigest(), len(content)), content


def skipping(world: World, m: Manifest) -> Manifest:
    """Serial 2 for somebody who has seen serial 0: no `previous` she could compare."""
    model, _ = model_of_its_own(world)
    return replace(m, serial=2, nonce="77" * 16, previous="88" * 32, model=model, changes=[])


def shown(world: World, victim: Device, lie: Manifest, *, all_three: bool, past: int) -> HttpReply:
    """The lie behind the first `past` entries of the true log and an invented one."""
    invented = [*logged(world)[:past], model_entry(1, bytes.fromhex(lie.model.hash))]
    keys, federation = HeldKeys.of(world, all_three=all_three), victim.identity.terms.federation
    return keys.show(federation, invented, lie.encode(), victim.storage.memory.log[0])


def complicit(world: World) -> None:
    """The coordinator signs every ticket."""
    honest = world.network.machines[COORDINATOR]

    def lying(method: str, path: str, body: bytes, headers: dict[str, str]) -> HttpReply:
        if path == "/tickets":
            return HttpReply(200, world.coordinator.key.sign("ticket", body))
        return honest(method, path, body, headers)

    world.network.machines[COORDINATOR] = lying  # type: ignore[assignment]


def test_a_skipped_serial_with_an_invented_past_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        victim, m = await one_round(world)
        complicit(world)
        before = victim.storage.memory
        alone = shown(world, victim, skipping(world, m), all_three=False, past=before.log[0])
        with pytest.raises(
            RefusedError, match="the manifest's signature must be of the right machine"
        ) as refused:
            await victim.take_part(alone)
        assert refused.value.code == "forged"
        assert victim.storage.memory is before
        assert uploads(world.network) == []

    asyncio.run(scenario())


def test_a_log_of_ones_own_is_refused_even_where_all_three_machines_sign_it(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        victim, m = await one_round(world)
        complicit(world)
        before = victim.storage.memory
        forked = shown(world, victim, skipping(world, m), all_three=True, past=1)
        with pytest.raises(RefusedError, match="another past is shown; it sends nothing"):
            await victim.take_part(forked)
        assert victim.storage.memory is before
        assert uploads(world.network) == []

    asyncio.run(scenario())


def test_honest_aggregators_log_and_open_no_skipped_serial(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        _, m = await one_round(world)
        key, lie = world.coordinator.key, replace(skipping(world, m), serial=3)
        content = lie.encode()
        for url in (SEED, VECTOR):
            with pytest.raises(RefusedError, match="must be in the public log before it is opened"):
                await ask(world.network, "POST", f"{url}/rounds", ordered(content, key))
            size = len(logged(world))
            entry = size.to_bytes(8, "little") + pack_entries([manifest_entry(content)])
            with pytest.raises(RefusedError, match="manifest 2 must be logged next"):
                await ask(world.network, "POST", f"{url}/log", key.sign("log", entry) + entry)
            over = (size - 1).to_bytes(8, "little") + pack_entries([manifest_entry(content)])
            with pytest.raises(RefusedError, match="entries of the log must never change"):
                await ask(world.network, "POST", f"{url}/log", key.sign("log", over) + over)

    asyncio.run(scenario())


def test_two_devices_cannot_be_shown_two_manifests(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        victim, m = await one_round(world)
        other = replace(m, nonce="99" * 16, model=model_of_its_own(world)[0], changes=[])
        content, key = other.encode(), world.coordinator.key
        for url in (SEED, VECTOR):
            with pytest.raises(RefusedError, match="manifest 1 is known here with another content"):
                await ask(world.network, "POST", f"{url}/rounds", ordered(content, key))
        twin = HeldKeys.of(world, all_three=False)
        second = twin.show(m.federation, logged(world)[:-1], content, victim.storage.memory.log[0])
        with pytest.raises(RefusedError, match="signature must be of the right machine"):
            await victim.take_part(second)
        assert uploads(world.network) == []
        assert (await victim.visit()).kind == "sent"  # what everybody is shown

    asyncio.run(scenario())


def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that believes whoever has the coordinator's key, as in version 1."""

    def believe(signed: SignedManifest, terms: object) -> Manifest:
        check_signature(bytes.fromhex(terms.coordinator), "manifest", signed.content, signed.coordinator)  # type: ignore[attr-defined]
        return signed.manifest

    monkeypatch.setattr(SignedManifest, "check", believe)
    monkeypatch.setattr(trust, "extends", lambda *_: True)


def test_a_device_that_looks_at_no_log_trains_on_a_model_of_its_own_and_sends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        victim, m = await one_round(world)
        complicit(world)
        lie = skipping(world, m)
        reply = shown(world, victim, lie, all_three=False, past=1)
        careless(monkeypatch)
        await victim.take_part(reply)
        fetched = [url for method, url, _ in world.network.log if method == "GET" and lie.model.hash in url]
        assert len(fetched) == 1
        ((url, body),) = uploads(world.network)  # an honest aggregator stops it there: its share has left
        assert (url, lie.hash in body) == (f"{SEED}/reports", True)

    asyncio.run(scenario())


def test_a_newest_model_that_is_not_in_the_log_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=TRAINING)

    async def scenario() -> None:
        victim, _ = await one_round(world)
        terms, own = victim.identity.terms, model_of_its_own(world)[0]
        head = victim.storage.memory.head
        newest = await trust.newest_model(world.network, COORDINATOR, terms, head)
        assert newest == LoggedModel(world.coordinator.rounds.now.model)
        honest = world.network.machines[COORDINATOR]

        def lying(method: str, path: str, body: bytes, headers: dict[str, str]) -> HttpReply:
            reply = honest(method, path, body, headers)
            true = bytes.fromhex(world.coordinator.rounds.now.model)
            return replace(reply, body=reply.body.replace(true, bytes.fromhex(own.hash)))

        world.network.machines[COORDINATOR] = lying  # type: ignore[assignment]
        with pytest.raises(RefusedError, match="what is shown must be in the public log, but is not"):
            await trust.newest_model(world.network, COORDINATOR, terms, head)

    asyncio.run(scenario())
