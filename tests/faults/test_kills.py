"""kill -9 of every machine at every write: the model is version n or n + 1, nothing is doubled or lost.

`make test` takes the same few points every time, `make test-all` more of them at random, `make test-faults` all
there are. MURMURA_FAULT_POINTS=few|some|number|all says how many. The seed is printed; MURMURA_FAULT_SEED=seed
repeats a run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
from collections.abc import Awaitable, Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from murmura.device.folder import DeviceFolder
from murmura.device.http_transport import HttpTransport
from murmura.device.trust import fetch_terms
from murmura.wire.admission import Invitation, OwnAdmission
from tests.faults.canary import nothing_of_one_person
from tests.faults.federation import (
    LONG,
    PEOPLE,
    ROUNDS,
    SEED,
    Crowd,
    book,
    current_model,
    likes,
    options,
    persist,
    replay,
)
from tests.faults.launcher import Fate
from tests.faults.machines import MINIMUM, SECONDS, Machine, Machines

pytestmark = pytest.mark.process

AT_ONCE = 3  # federations side by side: each mostly waits
FEW, SERVERS, DEVICES = 2, 22, 8  # points of `make test`, and of `make test-all`
TORN = 6000  # bytes between two places at which a book is torn
Point = tuple[str, str, int]  # machine, "write" or "torn", which


async def run(folder: Path, fates: dict[str, Fate]) -> list[Point]:
    """One federation from its first start to its end; where its machines could have been killed."""
    machines = Machines(folder, options(folder))
    async with HttpTransport() as send:
        late = lambda: machines.advance(LONG + 1)  # noqa: E731
        crowd = Crowd(machines.url, send, machines.clock, machines.admitter, machines.advance, incomplete=late)
        watch = []
        try:
            await machines.start(send, fates)
            watch = [asyncio.create_task(machine.survive()) for machine in machines.by_name.values()]
            await asyncio.wait_for(crowd.join(), SECONDS)
            await asyncio.wait_for(crowd.stay(), SECONDS)
            points = [point for machine in machines.by_name.values() for point in points_of(machine)]
        finally:
            for task in watch:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            machines.kill()
    for name in fates:
        assert machines.by_name[name].deaths == 1, f"{name} was not killed"
    check(folder, crowd)
    return points


def points_of(machine: Machine) -> list[Point]:
    """Before and after every write, and the middle of many writes to its book."""
    size = max(path.stat().st_size for path in machine.folder.glob("*.db*"))  # the log beside it is cut short
    torn = [(machine.name, "torn", n) for n in range(TORN // 2, size, TORN)]
    return [*((machine.name, "write", n) for n in range(1, machine.writes + 1)), *torn]


def check(folder: Path, crowd: Crowd) -> None:
    """The federation is finished, and its models are those of the plain loop over its rounds."""
    written = book(folder / "coordinator")
    assert [one.state for one in written].count("committed") == ROUNDS
    assert all(one.state in ("committed", "abandoned") for one in written)
    assert sum(one.state == "abandoned" for one in written) <= 1
    plain, vectors = replay(written, crowd.sent())
    assert current_model(folder / "coordinator") == plain.model_hash()
    nothing_of_one_person(folder, vectors)


async def every(points: list[Point], folder: Path, one: Callable[[Path, Point], Awaitable[object]]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def guarded(point: Point) -> None:
        async with gate:
            place = folder / "-".join(map(str, point))
            place.mkdir()
            try:
                await one(place, point)
            except BaseException as error:
                error.add_note(f"killed: {point[0]}, {point[1]} {point[2]}; see {place}")
                raise
            shutil.rmtree(place)

    async with asyncio.TaskGroup() as group:
        for point in points:
            group.create_task(guarded(point))


async def server_dies(folder: Path, point: Point) -> None:
    name, kind, at = point
    within = str(folder / name)
    fate = Fate(kill_at=at, within=within) if kind == "write" else Fate(torn_at=at, within=within)
    await run(folder, {name: fate})


async def device_dies(folder: Path, point: Point) -> int:
    """All devices but the last in this process, that one a process of its own; its writes."""
    machines, last = Machines(folder, options(folder, 120.0)), PEOPLE - 1
    table = folder / "likes.csv"
    rows = "".join(f"{last},{item}\n" for item in likes(last).item.tolist())
    table.write_text("user,item\n" + rows, encoding="utf-8")
    words = ["--state", str(folder / "device"), "--data", str(table), "--json"]
    words += ["--minimum", str(MINIMUM), "--simulate", f"{SEED}:{last}"]
    device = Machine("device", folder / "device", words)
    async with HttpTransport() as send:
        crowd = Crowd(machines.url, send, machines.clock, machines.admitter, machines.advance)
        try:
            await machines.start(send)
            terms = await persist(lambda: fetch_terms(send, machines.url))
            own = OwnAdmission.create(machines.admitter, terms.federation)
            device.words = ["join", Invitation(machines.url, terms.hash, own).link(), *words]
            device.start(Fate(kill_at=point[2], within=str(device.folder)))
            everyone = asyncio.gather(crowd.join(range(last)), return_exceptions=False)
            await asyncio.wait_for(everyone, SECONDS)
            lived = asyncio.create_task(device.live())
            await asyncio.wait_for(crowd.stay(), SECONDS)
            await asyncio.wait_for(lived, SECONDS)
        finally:
            machines.kill()
            device.kill()
    assert device.deaths == (1 if point[2] else 0)
    check_device(folder, crowd, device)
    return device.writes


def check_device(folder: Path, crowd: Crowd, device: Machine) -> None:
    """Its uploads are written down once each, and what it learned is version n or n + 1 of every round."""
    last, written = PEOPLE - 1, book(folder / "coordinator")
    home = DeviceFolder(device.folder)
    noted = [entry.manifest for entry in home.journal.verify().entries]
    assert len(noted) == len(set(noted))
    told = [json.loads(line) for line in device.log.read_text().splitlines() if line.startswith("{")]
    assert not any("another share" in one.get("why", "") for one in told), "a second, different upload"
    surely = {one["round"] for one in told if one["event"] == "sent"}
    sent, counted = crowd.sent(), crowd.sent()
    for one in written:
        if one.reports is not None and one.reports > len(sent.get(one.manifest.serial, ())):
            counted.setdefault(one.manifest.serial, set()).add(last)
            assert one.manifest.hash.hex() in noted, "it left, but is not written down"
    doubtful = [one.manifest.serial for one in written if one.manifest.round not in surely]
    known = {one.manifest.serial for one in written} - set(doubtful)
    for learned in (known | set(some) for n in range(len(doubtful) + 1) for some in combinations(doubtful, n)):
        believed = {serial: who | ({last} if serial in learned else set()) for serial, who in sent.items()}
        with contextlib.suppress(AssertionError):
            plain, vectors = replay(written, believed, counted)
            assert current_model(folder / "coordinator") == plain.model_hash()
            state = home.memory.state
            assert all(np.array_equal(state[name], plain.clients[last][name]) for name in state)
            break
    else:
        raise AssertionError("no history of this device explains the model and what it has learned")
    for name in ("coordinator", "seed", "vector"):
        nothing_of_one_person(folder / name, vectors)
    assert [one.state for one in written].count("committed") == ROUNDS


def chosen(points: list[Point], some: int) -> list[Point]:
    """All points, the same few, or so many at random as asked for."""
    wanted = os.environ.get("MURMURA_FAULT_POINTS", "few")
    if wanted == "all":
        return points
    drawn = 0 if wanted == "few" else random.SystemRandom().randrange(10**6)
    seed = int(os.environ.get("MURMURA_FAULT_SEED", drawn))
    count = {"few": FEW, "some": some}.get(wanted) or int(wanted)
    picked = random.Random(seed).sample(points, min(len(points), count))
    print(f"MURMURA_FAULT_SEED={seed}: {', '.join(f'{m} {kind} {n}' for m, kind, n in picked)}")
    return picked


def test_servers_killed_at_any_write_neither_lose_nor_double_anything(tmp_path: Path) -> None:
    (tmp_path / "nobody").mkdir()
    points = asyncio.run(run(tmp_path / "nobody", {}))
    assert len(points) >= 200
    asyncio.run(every(chosen(points, SERVERS), tmp_path, server_dies))


@pytest.mark.smoke
def test_a_device_killed_at_any_write_never_sends_twice_and_learns_all_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "nobody").mkdir()
    count = asyncio.run(device_dies(tmp_path / "nobody", ("device", "write", 0)))
    points = [("device", "write", n) for n in range(1, count + 1)]
    asyncio.run(every(chosen(points, DEVICES), tmp_path, device_dies))
