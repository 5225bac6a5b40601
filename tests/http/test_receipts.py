"""A receipt that is lost on the way: the same upload gets it again, also when its round is over meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from murmura.core.channel import ChannelSettings
from murmura.device.device import Device
from murmura.server.loopback import VECTOR
from murmura.wire.refusals import RefusedError, UnreachableError
from murmura.wire.transport import REPLY_BYTES, HttpReply
from murmura.wire.wire import IndividualReport
from tests.http.forgery import made_share, opened_share
from tests.http.network import World, people
from tests.http.test_each import GROUPS, READ, ratings

SUMS: dict[str, object] = {"rounds": 1, "clients": "all"}  # counts, then training: shares of two lengths
LETTERS: dict[str, object] = {"factors": 2, "patterns": 3}


def federation(folder: Path, mode: str) -> World:
    if mode == "secure-sum":
        return World(folder, people(), settings=SUMS)
    if mode == "letters":
        return World(folder, ratings(), "fedsplit", LETTERS, READ, groups=GROUPS)
    channel = ChannelSettings(channel="readable", minimum_cohort=10)
    return World(folder, people(), settings=SUMS, channel=channel)


class Losing:
    """A network that delivers the last message of a round, and loses the answer until the round is over."""

    def __init__(self, world: World, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.world, self.lost, self.meanwhile = world, list[tuple[str, bytes]](), meanwhile

    async def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        reply = await self.world.network(method, url, body, headers, largest=largest)
        last = url == f"{VECTOR}/reports" or url.endswith("/letters")
        if last and (url, body) not in self.lost:
            assert reply.status == 200, reply
            self.lost.append((url, body))
            done = self.world.coordinator.rounds.now.position.done
            for _ in range(10):
                await self.world.turn()  # the round ends, and the next one, if there is one, is opened
            assert self.world.coordinator.rounds.now.position.done == done + 1
            self.meanwhile()
            raise UnreachableError("the line went dead.")
        return reply


async def all_rounds(world: World, devices: list[Device]) -> set[str]:
    """The others first, so that the first device's upload is the one a round waits for; what became of it."""
    kinds = set[str]()
    for _ in range(20):
        if world.coordinator.about()["state"] == "finished":
            return kinds
        if world.coordinator.rounds.waits_until:  # for the next window: devices have heard of this exchange
            world.clock.now = world.coordinator.rounds.waits_until
        await world.turn()
        for device in devices[1:]:
            await device.visit()
        kinds.add((await devices[0].visit()).kind)
    raise AssertionError("it did not finish")


@pytest.mark.parametrize("mode", ["secure-sum", "letters", "readable sums"])
def test_who_was_counted_hears_it_although_the_next_round_has_begun(tmp_path: Path, mode: str) -> None:
    calm, world = (federation(tmp_path / name, mode) for name in ("calm", "lossy"))

    async def scenario() -> Losing:
        await all_rounds(calm, await calm.everyone())
        devices, losing = await world.everyone(), Losing(world)
        devices[0].send = losing
        assert await all_rounds(world, devices) == {"sent"}
        return losing

    losing = asyncio.run(scenario())
    assert len(losing.lost) == len(world.coordinator.history()) == 2
    assert len({len(body) for _, body in losing.lost}) == 2
    for name, values in calm.coordinator.rounds.now.server.model.items():
        np.testing.assert_array_equal(values, world.coordinator.rounds.now.server.model[name], strict=True)


@pytest.mark.parametrize("mode", ["secure-sum", "letters"])
def test_after_a_restart_nobody_knows_but_what_may_have_been_counted_counts_as_shown(
    tmp_path: Path, mode: str
) -> None:
    calm, world = (federation(tmp_path / name, mode) for name in ("calm", "lossy"))

    def restart() -> None:
        if mode == "secure-sum":
            world.start_aggregator("vector")
        else:
            world.start_coordinator()

    async def scenario() -> None:
        whole, devices = await calm.everyone(), await world.everyone()
        await all_rounds(calm, whole)
        devices[0].send = Losing(world, restart)
        assert "sent" not in await all_rounds(world, devices)
        shown = whole[0].storage.memory.sent
        assert len(shown) > 0
        assert devices[0].storage.memory.sent == shown

    asyncio.run(scenario())


def others(world: World, device: Device, body: bytes, mode: str) -> dict[bytes, str]:
    """Other uploads of the same round than the one in `body`, and what each of them is told."""
    flipped, renamed = body[:-1] + bytes([body[-1] ^ 1]), body[:36] + bytes(16) + body[52:]
    if mode != "secure-sum":
        upload = IndividualReport.decode(body)
        ticket = world.coordinator.key.sign("ticket", upload.manifest + bytes(16))
        again = replace(upload, report=bytes(16), ticket=ticket).encode()
        return {flipped: "late", renamed: "forged", again: "late"}
    head, shown, payload = opened_share(world, "vector", body)

    def sealed(content: bytes, mark: bytes) -> bytes:
        return made_share(world, "vector", head, content, device.identity.admission, mark)

    changed = payload[:-1] + bytes([payload[-1] ^ 1])
    assert sealed(payload, shown.mark) != body
    return {
        flipped: "forged",  # no longer what its pass names
        renamed: "forged",  # sealed for another report
        sealed(changed, shown.mark): "late",
        sealed(payload, bytes(32)): "late",
    }


@pytest.mark.parametrize("mode", ["secure-sum", "letters", "readable sums"])
def test_another_upload_for_a_round_that_is_over_is_refused(tmp_path: Path, mode: str) -> None:
    world = federation(tmp_path, mode)

    async def scenario() -> None:
        devices, losing = await world.everyone(), Losing(world)
        devices[0].send = losing
        await world.turn()
        for device in (*devices[1:], devices[0]):
            await device.visit()
        (url, body) = losing.lost[0]
        for other, code in others(world, devices[0], body, mode).items():
            reply = await world.network("POST", url, other, {})
            assert RefusedError.read(reply.status, reply.body).code == code
        again = await world.network("POST", url, body, {})
        assert (again.status, len(again.body)) == (200, 64)

    asyncio.run(scenario())


def test_a_letter_that_was_left_out_is_told_so_again_when_the_round_is_over(tmp_path: Path) -> None:
    channel = replace(READ, minimum_cohort=3)
    world = World(tmp_path, ratings(), "fedsplit", {**LETTERS, "clip": 0.01}, channel, groups=GROUPS)

    async def scenario() -> None:
        devices = await world.everyone()
        await world.one_round(devices)
        await world.turn()

        def huge(method: str, url: str, body: bytes) -> bytes:
            sent = np.frombuffer(body[-4:], np.float32) + 5
            return body[:-4] + sent.astype(np.float32).tobytes() if url.endswith("/letters") else body

        for device in devices[1:]:
            assert (await device.visit()).kind == "sent"
        world.network.tamper = huge
        assert (await devices[0].visit()).kind == "refused"
        world.network.tamper = lambda method, url, body: body
        url, body = next(
            (url, body) for _, url, body in reversed(world.network.log) if url.endswith("/letters")
        )
        for _ in range(2):  # the second time everybody signs how it ended
            await world.turn()
        assert world.coordinator.about()["state"] == "finished"
        reply = await world.network("POST", url, body, {})
        assert RefusedError.read(reply.status, reply.body).code == "left-out"

    asyncio.run(scenario())
