"""Terms that aggregators have agreed to and devices have not: a round is held to the terms it was opened under.

Operators of aggregators may agree to a smaller minimum before a device's owner does. Until then nothing she
sends under the old terms may be released under the new ones.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from murmura.device.device import Device
from murmura.device.trust import TermsChangedError
from murmura.server.aggregator.aggregator import Aggregator
from murmura.wire.log import manifest_entry, pack_entries
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from murmura.wire.terms import FederationTerms
from tests.faults.malice import counted_items, ordered
from tests.http.network import World, people

SETTINGS: dict[str, object] = {"rounds": 2, "clients": "all"}


def small_minimum(world: World) -> FederationTerms:
    """The same terms, but for sums of a single device."""
    now = world.coordinator.rounds.terms
    return replace(now, channel={**now.channel, "minimum_cohort": 1})


def agree(world: World, offered: FederationTerms) -> None:
    """Both operators have said --accept-terms; the coordinator chooses the moment."""
    content = offered.encode()
    for aggregator in world.aggregators.values():
        aggregator.agreement.accept = offered.hash
        aggregator.agreement.agree(world.coordinator.key.sign("terms", content) + content)


def total_of(world: World, manifest: Manifest) -> set[int]:
    """What a coordinator reads when it asks for the sum, whatever it is of."""
    name, sign = manifest.hash, world.coordinator.key.sign
    seed, vector = world.aggregators["seed"], world.aggregators["vector"]
    listed = vector.close_round(name, sign("close", name))
    first = seed.release(name, sign("release", name) + listed)
    second = vector.release(name, sign("release", name) + first[:64] + listed[64:])
    chain = world.coordinator.rounds.terms.chain(manifest.phase, world.info, manifest.largest)
    both = chain.ring.add_up([chain.ring.unpack(one[128:]) for one in (first, second)])
    return counted_items(chain.server(both, manifest.round))


async def one_report(world: World) -> tuple[Device, Manifest]:
    """A round in which one device has reported under the terms it joined with."""
    devices = await world.everyone()
    await world.turn()
    assert (await devices[0].visit()).kind == "sent"
    live = world.coordinator.rounds.live
    assert live is not None
    return devices[0], live.manifest


def test_a_round_is_not_released_under_terms_that_were_agreed_to_after_it_was_opened(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)

    async def scenario() -> None:
        _, manifest = await one_report(world)
        agree(world, small_minimum(world))
        with pytest.raises(RefusedError, match="under other terms") as refused:
            total_of(world, manifest)
        assert refused.value.code == "lost"

    asyncio.run(scenario())


def test_a_manifest_of_other_terms_is_not_opened_though_it_was_logged_under_them(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)

    async def scenario() -> None:
        _, first = await one_report(world)
        second = replace(first, serial=1, round=1, previous=first.hash.hex())
        place = len(world.coordinator.rounds.store.log).to_bytes(8, "little")
        entries = place + pack_entries([manifest_entry(second.encode())])
        for aggregator in world.aggregators.values():
            aggregator.append_log(world.coordinator.key.sign("log", entries) + entries)
        agree(world, small_minimum(world))
        for aggregator in world.aggregators.values():
            with pytest.raises(RefusedError, match="under other terms"):
                aggregator.open_round(ordered(second, world.coordinator.key))

    asyncio.run(scenario())


def test_aggregators_that_do_not_look_release_the_history_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    monkeypatch.setattr(Aggregator, "_check_terms", lambda *_: None)

    async def scenario() -> None:
        _, manifest = await one_report(world)
        agree(world, small_minimum(world))
        assert total_of(world, manifest) == set(world.rows(0).item.tolist())

    asyncio.run(scenario())


HIDING = "\x1b[2K\r\u202enothing changes"  # clears the line of a terminal, turns what follows around


def test_what_changes_is_told_in_plain_characters(tmp_path: Path) -> None:
    """A coordinator that could steer the owner's terminal would have her agree to what she does not see."""
    world = World(tmp_path, people(), settings=SETTINGS)
    asyncio.run(world.servers.agree())
    now = world.coordinator.rounds.terms
    offered = replace(small_minimum(world), method=HIDING, settings={HIDING: HIDING})
    told = now.differences(offered)
    assert "channel.minimum_cohort 10 → 1" in told
    assert all(one.isprintable() for one in (*told, str(TermsChangedError(offered, told))))


def test_a_refusal_from_elsewhere_is_told_in_plain_characters_and_not_without_end() -> None:
    said = RefusedError.read(403, json.dumps({"error": "forged", "message": HIDING + "a" * 100_000}).encode())
    assert str(said).isprintable()
    assert len(str(said)) < 2000


def test_two_long_values_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    world = World(tmp_path, people(), settings=SETTINGS)
    asyncio.run(world.servers.agree())
    now = world.coordinator.rounds.terms
    assert now.vector_aggregator is not None
    at = "https://aggregator-of-the-university.example/{}/and-all-that"
    one, two = (
        replace(now, vector_aggregator=replace(now.vector_aggregator, url=at.format(who)))
        for who in ("friend", "enemy!")
    )
    (told,) = one.differences(two)
    assert "friend" in told
    assert "enemy!" in told
