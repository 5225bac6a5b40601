"""What reaches a round: devices that drop out, come late, come twice, come again, or come in floods."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from murmura.device.http_transport import HttpTransport
from murmura.device.storage import Identity
from murmura.wire import wire
from murmura.wire.admission import Admission
from murmura.wire.refusals import RefusedError
from murmura.wire.signed_records import SealingKey
from murmura.wire.transport import REPLY_BYTES, HttpReply, bearer
from tests.faults.canary import HEAD
from tests.faults.federation import LONG, PEOPLE, ROUNDS, Scene, current_model, scene
from tests.faults.machines import MINIMUM
from tests.faults.malice import invented_share, opened_share
from tests.faults.test_liars import opened

pytestmark = pytest.mark.process

GONE = range(PEOPLE - MINIMUM)  # 30 % of the devices
STEPS = ("before the ticket", "after the ticket", "between the shares", "before the last receipt")


def sealing_key(place: Scene, name: str) -> SealingKey:
    """An aggregator's own: a test can be the worst device there is."""
    return SealingKey(bytes(place.rows(name, "SELECT value FROM facts WHERE name = 'sealing key'")[0][0]))


def another(body: bytes, keys: list[SealingKey], identities: dict[bytes, Identity]) -> bytes:
    """Another update under the same report id, with everything that let the first one in."""
    head, passed, payload = opened_share(body, body[3], keys[body[3]])
    own = identities[Admission.decode(passed.admission).public]
    changed = payload[:-1] + bytes([payload[-1] ^ 1])
    return invented_share(own, head, changed, passed.ticket, passed.receipt, passed.mark)


def blobs(row: tuple[object, ...]) -> list[bytes]:
    return [one for one in row if isinstance(one, bytes)]


class DroppedError(Exception):
    """The device is gone."""


class Dropping:
    """A network that loses one device at one step of the protocol."""

    def __init__(self, real: HttpTransport, step: str, place: Scene) -> None:
        self._real, self._step, self._place = real, step, place

    async def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        ticket, vector = url.endswith("/tickets"), url == f"{self._place.url('vector')}/reports"
        if (ticket and self._step == STEPS[0]) or (vector and self._step == STEPS[2]):
            raise DroppedError
        reply = await self._real(method, url, body, headers, largest=largest)
        if (ticket and self._step == STEPS[1]) or (vector and self._step == STEPS[3]):
            raise DroppedError
        return reply


async def dropping(folder: Path, step: str) -> None:
    folder.mkdir()
    async with scene(folder) as place:
        for slot in GONE:
            place.crowd.devices[slot].send = Dropping(place.send, step, place)
        counted = {}
        for serial in range(ROUNDS):
            reply = await place.manifest()
            visits = [place.crowd.visit(slot, reply) for slot in range(PEOPLE)]
            seen = await asyncio.gather(*visits, return_exceptions=True)
            assert [isinstance(one, DroppedError) for one in seen] == [n in GONE for n in range(PEOPLE)]
            complete = step == STEPS[3]  # both shares are there, so they count, though nobody was told
            if not complete:
                place.machines.advance(LONG + 1)
            ended = await place.ended(serial)
            assert (ended.state, ended.reports) == ("committed", PEOPLE if complete else MINIMUM), ended
            counted[serial] = set(range(PEOPLE)) - (set() if complete else set(GONE))
        place.check(counted)


def test_the_sum_is_exactly_the_survivors_whatever_step_thirty_percent_drop_out_at(tmp_path: Path) -> None:
    async def all_steps() -> None:
        await asyncio.gather(*(dropping(tmp_path / str(n), step) for n, step in enumerate(STEPS)))

    asyncio.run(all_steps())


def test_fewer_survivors_than_the_minimum_publish_nothing_and_change_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            before = current_model(tmp_path / "coordinator")
            reply = await place.manifest()
            await asyncio.gather(*(place.crowd.visit(slot, reply) for slot in range(MINIMUM - 1)))
            place.machines.advance(LONG + 1)
            ended = await place.ended(0)
            assert (ended.state, ended.reports) == ("abandoned", MINIMUM - 1)
            assert current_model(tmp_path / "coordinator") == before
            for name in ("seed", "vector"):
                (released,) = place.rows(name, "SELECT count(*) FROM rounds WHERE state = 'released'")[0]
                assert released == 0
            await place.crowd.stay()
            place.check()

    asyncio.run(scenario())


@pytest.mark.smoke
def test_a_straggler_is_told_so_keeps_its_state_and_is_welcome_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            reply, slow = await place.manifest(), place.crowd.devices[0]
            before = slow.storage.memory.state
            real = place.send

            async def slowly(
                method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
            ) -> HttpReply:
                if url.endswith("/reports"):
                    place.machines.advance(LONG + 1)
                return await real(method, url, body, headers, largest=largest)

            slow.send = slowly
            await asyncio.gather(*(place.crowd.visit(slot, reply) for slot in range(1, PEOPLE)))
            await place.crowd.visit(0, reply)
            told = place.crowd.outcomes[0][0]
            assert (told.kind, "over" in told.why or "no round" in told.why) == ("refused", True), told
            assert slow.storage.memory.state is before
            assert slow.storage.memory.pending is None
            assert (await place.ended(0)).reports == PEOPLE - 1
            slow.send = real
            await place.crowd.stay()
            assert place.crowd.outcomes[1][0].kind == "sent"
            place.check()

    asyncio.run(scenario())


def test_the_same_upload_thrice_at_once_counts_once_and_gets_one_receipt(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            tripled: dict[str, list[HttpReply]] = {}
            refused: Counter[tuple[bool, str]] = (
                Counter()
            )  # another update under the same name: of a seed?, code
            bent: Counter[tuple[bool, str]] = Counter()  # the same message with one bit changed on the way
            keys = [sealing_key(place, name) for name in ("seed", "vector")]

            async def thrice(
                method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
            ) -> HttpReply:
                if method == "GET":
                    return await place.send(method, url, body, headers, largest=largest)
                three = await asyncio.gather(
                    *(place.send(method, url, body, headers, largest=largest) for _ in range(3))
                )
                tripled.setdefault(url.rpartition("/")[2], []).extend(three)
                assert len({(one.status, one.body) for one in three}) == 1
                if url.endswith("/reports"):
                    seed = url.startswith(place.url("seed"))
                    flipped = body[:-1] + bytes([body[-1] ^ 1])
                    for counter, changed in ((refused, another(body, keys, identities)), (bent, flipped)):
                        other = await place.send(method, url, changed, headers, largest=largest)
                        counter[seed, RefusedError.read(other.status, other.body).code] += 1
                return three[0]

            identities = {}
            for device in place.crowd.devices.values():
                device.send = thrice
                assert device.identity.admission is not None
                identities[device.identity.admission.key.public] = device.identity
            await place.crowd.stay()
            place.check()
            assert {one.status for seen in tripled.values() for one in seen} == {200}
            # the round waits for this vector, so it is open for the seed; after the last vector it may be over
            assert {code: n for (seed, code), n in refused.items() if seed} == {"duplicate": PEOPLE * ROUNDS}
            assert {code: n for (seed, code), n in bent.items() if seed} == {"forged": PEOPLE * ROUNDS}
            for counter, code in ((refused, "duplicate"), (bent, "forged")):
                vectors = {code for seed, code in counter if not seed}
                assert code in vectors
                assert vectors <= {code, "late", "replay"}
            assert {name: len(seen) for name, seen in tripled.items()} == {
                "tickets": 3 * PEOPLE * ROUNDS,
                "reports": 3 * 2 * PEOPLE * ROUNDS,
            }

    asyncio.run(scenario())


def test_nothing_recorded_in_one_round_counts_in_another(tmp_path: Path) -> None:
    """The same bytes may get their old receipt until the next round is over, as after a lost one; no more."""

    async def scenario() -> None:
        async with scene(tmp_path) as place:
            recorded: list[tuple[str, bytes, Mapping[str, str], HttpReply]] = []

            async def recording(
                method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
            ) -> HttpReply:
                reply = await place.send(method, url, body, headers, largest=largest)
                if method == "POST":
                    recorded.append((url, body, headers, reply))
                return reply

            async def again() -> list[HttpReply]:
                return [await place.send("POST", url, body, headers) for url, body, headers, _ in old]

            first = await place.manifest()
            device = place.crowd.devices[0]
            device.send = recording
            await asyncio.gather(*(place.crowd.visit(slot, first) for slot in range(PEOPLE)))
            await place.ended(0)
            old = recorded.copy()
            second = await place.manifest()
            ticket, *shares = await again()
            assert RefusedError.read(ticket.status, ticket.body).code == "late"
            assert [(one.status, one.body) for one in shares] == [(200, reply.body) for *_, reply in old[1:]]
            recorded.clear()
            await asyncio.gather(*(place.crowd.visit(slot, second) for slot in range(PEOPLE - 1)))
            for (_, before, *_), (url, body, *_) in zip(old[1:], recorded[1:], strict=True):
                for cut in (HEAD, wire.SHARE_PRELUDE):  # what comes before the pass, and before the payload
                    for grafted in (before[:cut] + body[cut:], body[:cut] + before[cut:]):
                        answer = await place.send("POST", url, grafted, {})
                        assert RefusedError.read(answer.status, answer.body).code == "forged"
            await place.crowd.visit(PEOPLE - 1, second)
            await place.ended(1)
            codes = {RefusedError.read(one.status, one.body).code for one in await again()}
            assert codes == {"late"}  # no round is open any more
            with pytest.raises(RefusedError) as refused:
                await device.take_part(first)
            assert refused.value.code == "replay"
            device.send = place.send
            await place.crowd.stay()
            place.check()

    asyncio.run(scenario())


def test_a_flood_of_one_device_is_one_contribution(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            reply, device = await place.manifest(), place.crowd.devices[0]
            await place.crowd.visit(0, reply)
            name = device.manifest.hash if device.manifest else b""
            token = bearer(device.identity.token)

            async def another(n: int) -> str:
                body = name + n.to_bytes(16, "little")
                answer = await place.send("POST", f"{place.crowd.url}/tickets", body, token)
                return RefusedError.read(answer.status, answer.body).code

            assert Counter(await asyncio.gather(*(another(n) for n in range(500)))) == {"duplicate": 500}
            own = device._report(opened(reply))
            again = await place.send("POST", f"{place.crowd.url}/tickets", name + own, token)
            assert again.status == 200  # its one ticket is still the one it has
            assert not any(own in one for rows in place.dump().values() for row in rows for one in blobs(row))
            await asyncio.gather(*(place.crowd.visit(slot, reply) for slot in range(1, PEOPLE)))
            assert (await place.ended(0)).reports == PEOPLE
            await place.crowd.stay()
            place.check()

    asyncio.run(scenario())


def test_an_address_that_asks_too_often_gets_429_and_patient_devices_get_through(tmp_path: Path) -> None:
    async def scenario() -> None:
        # thirty a second, three hundred saved up; the coordinator at the same address asks too
        async with scene(tmp_path, rate=30.0) as place:
            many = [place.send("GET", f"{place.url('seed')}/key", b"", {}) for _ in range(900)]
            answers = await asyncio.gather(*many)
            kinds = Counter(one.status for one in answers)
            assert set(kinds) == {200, 429}
            assert kinds[200] <= 300
            refused = next(one for one in answers if one.status == 429)
            assert refused.headers["retry-after"] == "1"
            assert RefusedError.read(429, refused.body).code == "rate"
            turned_away = asyncio.Event()

            async def watched(
                method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
            ) -> HttpReply:
                reply = await place.send(method, url, body, headers, largest=largest)
                if url.startswith(place.url("seed")) and reply.status == 429:
                    turned_away.set()
                return reply

            async def seconds_pass() -> None:
                await turned_away.wait()
                while True:
                    place.machines.refill(0.1)
                    await asyncio.sleep(0.01)

            for device in place.crowd.devices.values():
                device.send = watched
            passing = asyncio.create_task(seconds_pass())
            await place.crowd.stay()
            passing.cancel()
            assert turned_away.is_set()
            place.check()

    asyncio.run(scenario())
