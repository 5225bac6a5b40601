"""A report is accepted once: what a second one, another one and a late one are told, in both modes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from murmura.core.channel import ChannelSettings
from murmura.device.device import Device
from murmura.server.admissions import AcceptedReports
from murmura.server.coordinator.open_round import IndividualReports
from murmura.server.loopback import COORDINATOR
from murmura.wire.manifest import Manifest
from murmura.wire.refusals import RefusedError
from murmura.wire.wire import IndividualReport
from tests.http.network import World, people

FIRST, SECOND = b"1" * 16, b"2" * 16


@pytest.fixture
def world(tmp_path: Path) -> World:
    channel = ChannelSettings(channel="readable", minimum_cohort=10)
    return World(tmp_path, people(), settings={"rounds": 1, "clients": "all"}, channel=channel)


@pytest.fixture(autouse=True)
def devices(world: World) -> list[Device]:
    """Those of a readable round that has begun."""

    async def begin() -> list[Device]:
        joined = await world.everyone()
        await world.turn()
        return joined

    return asyncio.run(begin())


@pytest.fixture
def manifest(world: World, devices: list[Device]) -> Manifest:
    assert world.coordinator.rounds.live is not None
    return world.coordinator.rounds.live.manifest


@pytest.fixture
def accepted(manifest: Manifest) -> AcceptedReports:
    return AcceptedReports(manifest, 100, "share", "another share.")


def refusal(accepted: AcceptedReports, report: bytes, now: float, device: int | None = None) -> str:
    with pytest.raises(RefusedError) as caught:
        accepted.check_new(report, now, device)
    return caught.value.code


def test_the_same_repeats_and_another_content_is_a_duplicate(
    accepted: AcceptedReports, manifest: Manifest
) -> None:
    accepted.check_new(FIRST, manifest.deadline)
    accepted.accept(FIRST, b"content")
    assert accepted.repeats(FIRST, b"content")
    assert not accepted.repeats(FIRST, b"other")
    assert not accepted.repeats(SECOND, b"content")
    assert refusal(accepted, FIRST, manifest.opened) == "duplicate"
    assert list(accepted.reports) == [FIRST]


def test_a_device_that_is_known_has_one_report(accepted: AcceptedReports, manifest: Manifest) -> None:
    accepted.accept(FIRST, b"content", device=0)
    assert refusal(accepted, SECOND, manifest.opened, device=0) == "duplicate"
    accepted.check_new(SECOND, manifest.opened, device=1)


def test_nothing_new_is_accepted_after_the_deadline_or_once_closed(
    accepted: AcceptedReports, manifest: Manifest
) -> None:
    accepted.accept(FIRST, b"content")
    assert refusal(accepted, SECOND, manifest.deadline + 0.001) == "late"
    accepted.check_new(SECOND, manifest.deadline)
    accepted.closed = True
    assert refusal(accepted, SECOND, manifest.opened) == "late"
    assert refusal(accepted, FIRST, manifest.deadline + 1) == "duplicate"
    assert accepted.repeats(FIRST, b"content")


def test_one_that_is_left_out_counts_as_answered_and_is_told_why_each_time(accepted: AcceptedReports) -> None:
    for attempt in (
        lambda: accepted.accept(FIRST, b"content", left_out=RefusedError("left-out", "it is too large.")),
        lambda: accepted.repeats(FIRST, b"content"),
    ):
        with pytest.raises(RefusedError, match="too large") as caught:
            attempt()
        assert caught.value.code == "left-out"
    assert list(accepted.reports) == [FIRST]


def mailbox(world: World) -> IndividualReports:
    live = world.coordinator.rounds.live
    assert live is not None
    assert live.individual_reports is not None
    return live.individual_reports


def ones(world: World) -> bytes:
    """An update whose words are all one: what the sum holds says how often it was added."""
    manifest = mailbox(world)._manifest
    ring = world.coordinator.rounds.terms.chain(manifest.phase, world.info, manifest.largest).ring
    return ring.pack(np.ones(ring.words, np.uint32))


def letter(world: World, report: bytes, update: bytes, mark: bytes = bytes(32)) -> IndividualReport:
    manifest = mailbox(world).accepted.manifest
    ticket = world.coordinator.key.sign("ticket", manifest + report)
    return IndividualReport(manifest, report, ticket, mark, update)


def test_an_update_is_added_once_whatever_ids_a_device_finds_for_it(world: World) -> None:
    box, key, update = mailbox(world), world.coordinator.key, ones(world)
    for _ in range(2):
        box.take(letter(world, FIRST, update), 0, key, world.clock())
    for report in (FIRST, SECOND):
        other = letter(world, report, update[:-1] + bytes([update[-1] ^ 1]))
        with pytest.raises(RefusedError) as caught:
            box.take(other, 0, key, world.clock())
        assert caught.value.code == "duplicate"
    with pytest.raises(RefusedError) as caught:  # a receipt is of one journal
        box.take(letter(world, FIRST, update, b"m" * 32), 0, key, world.clock())
    assert caught.value.code == "duplicate"
    assert (box.count, set(box._total.tolist())) == (1, {1})


def test_two_devices_that_agree_on_one_id_are_one_report(world: World, devices: list[Device]) -> None:
    update, url = ones(world), f"{COORDINATOR}/letters"
    box = mailbox(world)

    async def scenario() -> list[int]:
        statuses = []
        for slot, content in ((5, update), (2, update), (2, bytes(len(update)))):
            world.coordinator.ticket(devices[slot].identity.token, box.accepted.manifest + FIRST)
            reply = await world.network("POST", url, letter(world, FIRST, content).encode(), {})
            statuses.append(reply.status)
        return statuses

    assert asyncio.run(scenario()) == [200, 200, 409]
    assert (box.count, set(box._total.tolist())) == (1, {1})
