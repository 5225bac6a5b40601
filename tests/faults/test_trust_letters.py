"""A method that needs every update for itself, where sums were agreed on: a household's letter in the clear."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.core.channel import ChannelSettings
from murmura.core.codec import decode
from murmura.core.contract import FederationInfo, Phase
from murmura.device.device import Device
from murmura.server.coordinator.setup import FederationSetup
from murmura.server.loopback import COORDINATOR
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from murmura.wire.transport import HttpReply
from murmura.wire.wire import IndividualReport
from tests.faults.malice import HeldKeys, logged, uploads
from tests.http.network import World
from tests.http.test_each import GROUPS, ratings

SUMS = ChannelSettings(channel="secure-sum", minimum_cohort=4)
METHOD: dict[str, object] = {"factors": 2, "patterns": 3}


def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator whose own software starts anything."""

    def started(self: FederationSetup) -> object:
        return made(replace(self, channel=replace(self.channel, channel="readable")))

    made = FederationSetup.itinerary
    monkeypatch.setattr(FederationSetup, "itinerary", started)


async def household(world: World) -> Device:
    """A device of several people who have never allowed that anybody reads their updates."""
    devices = [await world.join(client) for client in range(4)]
    devices[0].identity = replace(devices[0].identity, readable=False)
    world.coordinator.order("start")
    await world.one_round(devices)  # the means, as a sum
    world.network.log.clear()
    return devices[0]


async def asked_for_letters(world: World, victim: Device) -> HttpReply:
    """The next round, for which the aggregators' keys were stolen too: nobody else stands in the way."""
    await world.turn()
    ((content,),) = world.coordinator._store.rows("SELECT manifest FROM rounds ORDER BY serial DESC LIMIT 1")
    m = Manifest.decode(bytes(content))
    assert m.phase == "factors"
    ticketed = HeldKeys.of(world, all_three=True)
    past, federation = logged(world)[:-1], world.coordinator.rounds.terms.federation
    return ticketed.show(federation, past, m.encode(), victim.storage.memory.log[0])


def complicit(world: World) -> list[bytes]:
    """A coordinator that signs every ticket and keeps every letter; the letters."""
    honest, letters = world.network.machines[COORDINATOR], []

    def lying(method: str, path: str, body: bytes, headers: dict[str, str]) -> HttpReply:
        if path == "/tickets":
            return HttpReply(200, world.coordinator.key.sign("ticket", body))
        if path == "/letters":
            letters.append(body)
            read = IndividualReport.decode(body)
            taken = read.manifest + read.report + read.mark
            return HttpReply(200, world.coordinator.key.sign("receipt", taken))
        return honest(method, path, body, headers)

    world.network.machines[COORDINATOR] = lying  # type: ignore[assignment]
    return letters


def test_honest_aggregators_open_no_round_that_needs_each_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unchecked(monkeypatch)
    world = World(tmp_path, ratings(), "fedsplit", METHOD, SUMS, groups=GROUPS)

    async def scenario() -> None:
        victim = await household(world)
        await world.turn()
        ended = world.coordinator.history()[0]
        assert ended["state"] == "abandoned"
        assert "needs every update for itself, but this federation was joined for sums" in ended["reason"]
        assert (await victim.visit()).kind == "idle"
        assert uploads(world.network) == []

    asyncio.run(scenario())


def test_a_household_without_readable_sends_no_letter_whoever_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unchecked(monkeypatch)
    world = World(tmp_path, ratings(), "fedsplit", METHOD, SUMS, groups=GROUPS)

    async def scenario() -> None:
        victim = await household(world)
        letters = complicit(world)
        with pytest.raises(RefusedError, match="needs every update for itself, but this federation was joined"):
            await victim.take_part(await asked_for_letters(world, victim))
        assert (uploads(world.network), letters) == ([], [])

    asyncio.run(scenario())


def test_a_device_that_looks_at_one_field_alone_posts_its_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unchecked(monkeypatch)
    world = World(tmp_path, ratings(), "fedsplit", METHOD, SUMS, groups=GROUPS)

    def phase(self: FederationTerms, name: str, info: FederationInfo) -> Phase:
        return next(one for one in self.algorithm().phases(info) if one.name == name)

    async def scenario() -> None:
        victim = await household(world)
        letters, asked = complicit(world), await asked_for_letters(world, victim)
        monkeypatch.setattr(FederationTerms, "phase", phase)
        assert (await victim.take_part(asked)).kind == "sent"
        spec = phase(victim.identity.terms, "factors", world.info).sends
        read = decode(IndividualReport.decode(letters[0]).update, spec)
        rated = {int(item) for table in read.tables.values() for item in table.index}
        assert rated == set(world.rows(0).item.tolist())  # what the household has rated, in the clear

    asyncio.run(scenario())
