"""Folders of real servers put back from older copies, in each of the three ways there are."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from murmura.wire.admission import Invitation, OwnAdmission
from murmura.wire.transport import ask
from tests.cli.processes import murmura
from tests.faults.federation import EVERY, PEOPLE, Scene, book, likes, scene
from tests.faults.machines import MINIMUM, SECONDS, Machine

pytestmark = pytest.mark.process
ALL = ("coordinator", "seed", "vector")
GONE_BACK = "it sends nothing, keeps everything and looks again later."


def files(folder: Path) -> dict[str, bytes]:
    """What a device has written, but for its lock, which says who runs now."""
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file() and one.suffix != ".lock"}


class Drill:
    """A federation with nine devices here and one that is a process, whose servers come and go."""

    def __init__(self, place: Scene, own: OwnAdmission) -> None:
        self.place, self.device = place, Machine("device", place.folder / "device", [])
        table = place.folder / "likes.csv"
        rows = "".join(f"{PEOPLE - 1},{item}\n" for item in likes(PEOPLE - 1).item.tolist())
        table.write_text("user,item\n" + rows, encoding="utf-8")
        terms = place.crowd.devices[0].identity.terms
        link = Invitation(place.machines.url, terms.hash, own).link()
        said = ["--state", str(self.device.folder), "--data", str(table), "--json", "--minimum", str(MINIMUM)]
        self.device.words = ["join", link, *said]

    @property
    def told(self) -> list[dict[str, object]]:
        """What the device has said."""
        return [json.loads(line) for line in self.device.log.read_text().splitlines() if line.startswith("{")]

    async def until(self, done: Callable[[], bool]) -> None:
        """Everybody takes part until then."""
        await asyncio.wait_for(self.place.crowd.stay(done), SECONDS)

    async def rounds(self, n: int) -> None:
        """So many more that the device has sent to, and that are committed."""
        sent = sum(one["event"] == "sent" for one in self.told) + n
        await self.until(lambda: sum(one["event"] == "sent" for one in self.told) >= sent)
        await self.until(lambda: book(self.place.folder / "coordinator")[-1].state == "open")

    def stop(self, *names: str) -> None:
        for name in names:
            self.place.machines.by_name[name].kill()

    def copy(self, name: str) -> None:
        """Everything as it is now; the servers must have been stopped."""
        for machine in ALL:
            shutil.copytree(self.place.folder / machine, self.place.folder / name / machine)

    async def command(self, *words: str) -> str:
        """What a command says, while all machines are at work."""
        done = await asyncio.to_thread(murmura, *words, cwd=self.place.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def restore(self, name: str, *machines: str) -> None:
        for machine in machines:
            shutil.rmtree(self.place.folder / machine)
            shutil.copytree(self.place.folder / name / machine, self.place.folder / machine)

    async def start(self, *names: str) -> None:
        for name in names:
            self.place.machines.by_name[name].start()
        for name in names:
            await self.place.machines.by_name[name].answers(self.place.send)


def test_restored_servers_say_so_catch_up_or_are_waited_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scene(tmp_path, 120.0, rounds=50, joining=PEOPLE - 1) as place:
            admitter, terms = place.machines.admitter, place.crowd.devices[0].identity.terms
            drill = Drill(place, OwnAdmission.create(admitter, terms.federation))
            drill.device.start()
            try:
                await play(drill)
            finally:
                drill.device.kill()

    asyncio.run(scenario())


async def play(drill: Drill) -> None:
    while not drill.device.log.exists():
        await asyncio.sleep(EVERY)
    await drill.rounds(2)
    for name in ALL:
        said = await drill.command("backup", "--state", str(drill.place.folder / name), "--to", f"older/{name}")
        assert f"copied to older/{name}" in said
    await drill.rounds(3)
    drill.stop(*ALL)
    await the_coordinator_alone(drill)
    await one_aggregator_alone(drill)
    await all_of_them(drill)
    await all_of_them_with_a_mirror(drill)


async def the_coordinator_alone(drill: Drill) -> None:
    """It takes over what the aggregators have logged and goes on: no device is asked or joins again."""
    drill.restore("older", "coordinator")
    drill.stop("seed", "vector")  # while they are away it waits, as ever
    await drill.start("coordinator")
    await drill.start("seed", "vector")
    told, outcomes = len(drill.told), drill.place.crowd.outcomes
    outcomes.clear()
    await drill.rounds(2)
    assert {one["event"] for one in drill.told[told:]} <= {"sent", "not-called"}
    assert {one.kind for seen in outcomes.values() for one in seen.values()} == {"sent"}
    about = (await ask(drill.place.send, "GET", f"{drill.place.crowd.url}/federation")).json()
    assert "this machine was restored from a copy" in about["resumed"]
    written = book(drill.place.folder / "coordinator")
    assert [one.manifest.serial for one in written] == list(range(len(written)))
    used = [one.manifest.round for one in written]
    assert len(set(used)) == len(used)
    lost = [one for one in written if one.state == "lost"]
    assert len(lost) >= 3
    drill.stop(*ALL)


async def one_aggregator_alone(drill: Drill) -> None:
    """It catches up."""
    drill.restore("older", "seed")
    await drill.start(*ALL)
    await drill.rounds(1)
    logs = {drill.place.rows(name, "SELECT count(*) FROM log")[0] for name in ("seed", "vector")}
    assert len(logs) == 1


async def all_of_them(drill: Drill) -> None:
    """Devices say in one sentence that servers have gone back, keep everything, and look again later."""
    drill.device.kill()
    drill.stop(*ALL)
    drill.copy("last")
    kept = files(drill.device.folder)
    drill.restore("older", *ALL)
    await drill.start(*ALL)
    told = len(drill.told)
    drill.device.start()
    outcomes = drill.place.crowd.outcomes
    outcomes.clear()
    await drill.until(lambda: len(drill.told) > told and len(outcomes) > 0)
    assert drill.told[told]["event"] == "refused"
    assert GONE_BACK in str(drill.told[told]["why"])
    assert files(drill.device.folder) == kept
    assert all(GONE_BACK in one.why for seen in outcomes.values() for one in seen.values())
    assert drill.device.process is not None
    assert drill.device.process.is_alive()

    drill.device.kill()
    drill.stop(*ALL)
    drill.restore("last", *ALL)
    await drill.start(*ALL)
    drill.device.start()
    await drill.rounds(1)  # nothing was lost


async def all_of_them_with_a_mirror(drill: Drill) -> None:
    """Somebody else has kept the log: it goes on where the log ended, and nobody is asked."""
    url = drill.place.crowd.url
    await drill.command("log", "mirror", url, "--state", "mirror", "--once")
    await drill.rounds(1)
    said = await drill.command("log", "mirror", url, "--state", "mirror", "--once")
    assert "of them new" in said
    drill.stop(*ALL)
    shutil.rmtree(drill.place.folder / "coordinator")
    drill.restore("older", "seed", "vector")
    restoring = ["restore", "older/coordinator", "--state", "coordinator", "--mirror", "mirror"]
    said = await drill.command(*restoring)
    assert "entries, signed by all machines." in said
    assert "No number is used again, and nobody is asked." in said
    assert "nothing was done; --yes does it." in said
    await drill.command(*restoring, "--yes")
    await drill.start(*ALL)
    told = len(drill.told)
    await drill.rounds(2)
    assert all(GONE_BACK not in str(one.get("why")) for one in drill.told[told:])
    rounds = [one.manifest.round for one in book(drill.place.folder / "coordinator")]
    assert len(set(rounds)) == len(rounds)
    assert "unbroken" in await drill.command("log", "verify", url)
