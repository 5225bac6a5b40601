"""Full disks and machines that stay away: nothing is acknowledged that is not safe, and nobody steps in."""

from __future__ import annotations

import asyncio
import resource
import secrets
import sqlite3
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.channel.ring import Ring
from murmura.channel.rounded_chain import rounded_chain
from murmura.core.channel import ChannelSettings
from murmura.core.errors import FederationError, RunError, SettingError
from murmura.device.enrolment import register
from murmura.device.http_transport import HttpTransport
from murmura.device.journal import JournalEntry
from murmura.device.storage import DeviceMemory
from murmura.device.trust import fetch_terms
from murmura.wire.admission import OwnAdmission
from murmura.wire.refusals import RefusedError
from murmura.wire.wire import REPORT_HEADER
from tests.faults.federation import LONG, PEOPLE, Plain, book, current_model, options, persist, scene
from tests.faults.launcher import Fate
from tests.faults.machines import SECONDS, Machines
from tests.faults.malice import newcomer
from tests.http.network import World, people
from tests.hypothesis_profiles import examples


@pytest.mark.process
def test_a_coordinator_whose_disk_is_full_acknowledges_nothing_it_would_forget(tmp_path: Path) -> None:
    """Devices join until the disk is full; those who were told so are there after a restart, and no others."""

    async def scenario() -> None:
        places = 4000
        machines = Machines(tmp_path, options(tmp_path, places=places))
        one = machines.by_name["coordinator"]
        taken, codes = set(), list[str]()
        async with HttpTransport() as send:
            try:
                await machines.start(send, {"coordinator": Fate(full_at=300_000, within=str(one.folder))})
                terms = await persist(lambda: fetch_terms(send, one.url))

                async def enter(slot: int | None) -> int:
                    own, token = OwnAdmission.create(machines.admitter, terms.federation), secrets.token_hex(32)
                    return await register(send, one.url, terms, own, token, slot)

                for slot in range(places):
                    try:
                        taken.add(await enter(slot))
                    except RefusedError as error:
                        codes.append(error.code)
                    if len(codes) == 20:
                        break
                one.kill()
                one.start()
                await one.answers(send)
                taken.add(await enter(None))  # there is space again
            finally:
                machines.kill()
        db = sqlite3.connect(tmp_path / "coordinator" / "coordinator.db")
        kept = {slot for (slot,) in db.execute("SELECT slot FROM devices")}
        db.close()
        assert codes == ["full"] * 20
        assert kept == taken

    asyncio.run(scenario())


@pytest.mark.process
@pytest.mark.parametrize("name", ["coordinator", "seed", "vector"])
def test_a_disk_that_fills_up_in_a_round_leaves_a_whole_model(tmp_path: Path, name: str) -> None:
    """The machine lives on with a full disk; when there is space again the federation goes on to its end."""

    async def scenario() -> None:
        async with scene(tmp_path) as place:
            one = place.machines.by_name[name]
            one.kill()
            sizes = [path.stat().st_size for path in one.folder.iterdir()]
            one.start(Fate(full_at=max(sizes) + 1, within=str(one.folder)))
            await one.answers(place.send)
            numbers = count()

            async def filled() -> tuple[int, str]:
                """What whoever takes invitations back hears in the end: nothing is acknowledged unwritten."""
                while True:
                    taken_back = next(numbers).to_bytes(32, "big")
                    order = place.machines.admitter.sign("revocation", taken_back) + taken_back
                    answer = await place.send("POST", f"{one.url}/revocations", order, {})
                    if answer.status != 200:
                        return answer.status, RefusedError.read(answer.status, answer.body).code

            assert await filled() == (503, "full")
            before = current_model(tmp_path / "coordinator")
            staying = asyncio.create_task(place.crowd.stay())
            await asyncio.sleep(1.5)
            assert one.process is not None
            assert one.process.is_alive()
            assert await filled() == (503, "full")
            if name != "coordinator":  # its write-ahead file is emptied for a new round, which may go on then
                assert current_model(tmp_path / "coordinator") == before
            one.kill()
            one.start()
            await asyncio.wait_for(staying, SECONDS)
            place.check()

    asyncio.run(scenario())


def test_a_device_whose_disk_is_full_sends_nothing(tmp_path: Path) -> None:
    """The journal comes before the first byte, and memory is replaced as a whole or not at all."""
    folder = asyncio.run(newcomer(World(tmp_path, people()), tmp_path / "device"))
    before = (folder.path / "memory.bin").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))  # no file can grow beyond ten bytes
    try:
        with pytest.raises(RunError, match="nothing may leave"):
            folder.note(JournalEntry("2026-01-01T00:00:00+00:00", 0, "sum", "m", 10, 1, 0.0))
        with pytest.raises(RunError, match="free space"):
            folder.keep(DeviceMemory(serial=7))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (folder.path / "memory.bin").read_bytes() == before
    assert folder.journal.verify().entries == ()
    folder.note(JournalEntry("2026-01-01T00:00:00+00:00", 0, "sum", "m", 10, 1, 0.0))
    assert len(folder.journal.verify().entries) == 1


@pytest.mark.process
@pytest.mark.parametrize("name", ["seed", "vector"])
def test_without_one_aggregator_a_round_waits_is_given_up_and_nobody_takes_its_place(
    tmp_path: Path, name: str
) -> None:
    async def scenario() -> None:
        async with scene(tmp_path) as place:
            before, reply = current_model(tmp_path / "coordinator"), await place.manifest()
            await asyncio.gather(*(place.crowd.visit(slot, reply) for slot in range(PEOPLE - 1)))
            place.machines.by_name[name].kill()
            letter = await place.send("POST", f"{place.crowd.url}/letters", bytes(REPORT_HEADER), {})
            assert 400 <= letter.status < 500  # the coordinator takes no update
            await asyncio.sleep(0.5)
            assert book(tmp_path / "coordinator")[0].state == "open"  # it pends
            place.machines.advance(2 * LONG + 10)
            ended = await place.ended(0)
            assert ended.state == "abandoned"
            assert current_model(tmp_path / "coordinator") == before
            other = {"seed": "vector", "vector": "seed"}[name]
            assert place.rows(other, "SELECT count(*) FROM rounds WHERE state = 'released'") == [(0,)]
            place.machines.by_name[name].start()
            await asyncio.wait_for(place.crowd.stay(), SECONDS)
            place.check()

    asyncio.run(scenario())


@examples(2)
@given(
    bits=st.integers(2, 24),
    ring=st.sampled_from([24, 32]),
    cohort=st.integers(1, 2**24),
    signs=st.sampled_from(["+", "-", "mixed"]),
)
def test_a_sum_cannot_overflow_the_ring_or_the_federation_does_not_start(
    bits: int, ring: int, cohort: int, signs: str
) -> None:
    """Everyone at the bound: the sum in the ring is the sum of whole numbers, or the chain is never made."""
    plain = Plain()
    phase = plain.itinerary.training[0]
    chosen = ChannelSettings(channel="secure-sum", bits=bits, ring=ring, minimum_cohort=1)  # type: ignore[arg-type]
    try:
        made = rounded_chain(chosen, phase, plain.info, cohort)
    except SettingError:
        assert cohort * 2 ** (bits - 1) >= 2 ** (ring - 1)
        return
    one = made.limits.astype(object) * (1 if signs == "+" else -1)
    if signs == "mixed":
        one[::2] *= -1
    one[0] = 1
    exact = [int(value) * cohort for value in one]
    wrapped = np.array([value % 2**ring for value in exact], np.uint32)
    assert Ring(ring, made.words).server(wrapped).tolist() == exact
    length = np.linalg.norm((np.array(exact, np.float64) * made.steps)[1:])
    if length > made.longest(cohort):
        with pytest.raises(FederationError, match="one broke its clip"):  # though every number fits
            made.server(wrapped, 0)
        wrapped[1:] = 0
    assert made.server(wrapped, 0).count == cohort
