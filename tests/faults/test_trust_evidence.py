"""A past that is rewritten: whoever changes a journal and its head together is found by the receipts."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from murmura.core.consent import Permission
from murmura.core.errors import DataError
from murmura.device import folder as folder_module
from murmura.device.folder import DeviceFolder
from murmura.device.journal import Journal
from murmura.device.storage import RECEIPTS, DeviceMemory, read_receipts
from murmura.server.coordinator.setup import RoundTiming
from tests.cli.processes import murmura
from tests.faults.malice import newcomer
from tests.http.network import World, people
from tests.http.own_devices import awake

ROUNDS = 3
TRAINING: dict[str, object] = {"rounds": ROUNDS, "clients": "all", "prior": False}


async def lived(world: World, folder: Path) -> DeviceFolder:
    """A device of a real folder that has taken part in every round."""
    home = await newcomer(world, folder)
    others = [await world.join(client) for client in range(1, world.info.clients)]
    world.coordinator.order("start")
    await world.play([awake(world, home), *others])
    assert home.check_evidence() == ROUNDS
    return home


def rewrite(home: DeviceFolder, kept: int) -> None:
    """Cut the newest lines, and write the head that goes with what is left."""
    path = home.journal.path
    lines = path.read_text().splitlines(keepends=True)[:kept]
    path.write_text("".join(lines))
    head = json.loads(lines[-1])["hash"] if lines else ""
    path.with_suffix(".head").write_text(f"{kept} {head}\n" if lines else "")


def invent(home: DeviceFolder) -> None:
    """Write another past, every line of it bound to the one before."""
    entries = home.journal.verify().entries
    for path in home.path.glob("journal.*"):
        path.unlink()
    other = Journal(home.journal.path)
    for entry in entries:
        other.append(type(entry)(**{**vars(entry), "disclosed": 0.0}))


@pytest.mark.parametrize("kept", [0, ROUNDS - 1])
def test_a_journal_cut_together_with_its_head_lacks_what_was_countersigned(tmp_path: Path, kept: int) -> None:
    home = asyncio.run(lived(World(tmp_path, people(), settings=TRAINING), tmp_path / "me"))
    rewrite(home, kept)
    home.journal.verify()  # by itself it is unbroken
    with pytest.raises(DataError, match=r"must contain the head .* but does not: its past was rewritten"):
        home.check_evidence()


def test_ledger_verify_says_so_in_one_sentence_and_leaving_keeps_the_evidence(tmp_path: Path) -> None:
    home = asyncio.run(lived(World(tmp_path, people(), settings=TRAINING), tmp_path / "me"))
    honest = murmura("ledger", "verify", "me", cwd=tmp_path)
    assert (honest.returncode, f"{ROUNDS} receipts" in honest.stdout) == (0, True)
    left = murmura("leave", "--state", "me", "--journal", "kept", cwd=tmp_path)
    assert (left.returncode, home.exists) == (0, False)
    assert "what cannot be recalled: 3 uploads" in left.stderr
    assert f"{ROUNDS} receipts" in murmura("ledger", "verify", "kept", cwd=tmp_path).stdout
    rewrite(DeviceFolder(tmp_path / "kept"), ROUNDS - 1)
    found = murmura("ledger", "verify", "kept", cwd=tmp_path)
    assert found.returncode not in (0, 1)
    assert "its past was rewritten" in found.stderr
    assert "Traceback" not in found.stderr


def test_an_invented_journal_lacks_what_was_countersigned(tmp_path: Path) -> None:
    home = asyncio.run(lived(World(tmp_path, people(), settings=TRAINING), tmp_path / "me"))
    invent(home)
    assert {entry.disclosed for entry in home.journal.verify().entries} == {0.0}
    with pytest.raises(DataError, match="its past was rewritten"):
        home.check_evidence()


def test_receipts_that_go_too_are_missed_by_what_the_device_remembers(tmp_path: Path) -> None:
    home = asyncio.run(lived(World(tmp_path, people(), settings=TRAINING), tmp_path / "me"))
    copy = tmp_path / "copy.jsonl"
    shutil.copy(home.path / RECEIPTS, copy)
    (home.path / RECEIPTS).unlink()
    rewrite(home, ROUNDS - 1)
    with pytest.raises(DataError, match=r"must have a line for round 2 .* its past was rewritten"):
        home.check_evidence()
    home.keep(DeviceMemory())  # and what it remembers: only a copy kept elsewhere is left
    assert home.check_evidence() == 0
    with pytest.raises(DataError, match="its past was rewritten"):
        home.check_evidence(copy)


def test_an_invented_receipt_is_nobodys(tmp_path: Path) -> None:
    home = asyncio.run(lived(World(tmp_path, people(), settings=TRAINING), tmp_path / "me"))
    invent(home)
    path, head = home.path / RECEIPTS, home.journal.verify().head
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**line, "head": head}) + "\n" for line in lines))
    with pytest.raises(DataError, match="must be signed by the machines of this federation, but is not"):
        home.check_evidence()


def test_without_receipts_a_rewritten_past_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A victim that does not look at them."""
    home = asyncio.run(lived(World(tmp_path, people(), settings=TRAINING), tmp_path / "me"))
    monkeypatch.setattr(folder_module, "check_receipts", lambda *_: None)
    invent(home)
    assert home.check_evidence() == ROUNDS


def test_an_upload_that_its_owner_stopped_is_no_rewritten_past(tmp_path: Path) -> None:
    timing = RoundTiming(round=60, hold=5, spread=20)
    world = World(tmp_path, people(), settings=TRAINING, timing=timing)

    async def scenario() -> None:
        home = await newcomer(world, tmp_path / "me")
        for client in range(1, world.info.clients):
            await world.join(client)
        world.coordinator.order("start")
        await world.turn()
        device = awake(world, home)

        async def sleep(seconds: float) -> None:
            home.allow(Permission(pi=0.2))
            await world.clock.sleep(seconds)

        device._sleep = sleep
        outcome = await device.visit()
        assert (outcome.kind, "taken back" in outcome.why) == ("declined", True)
        assert home.journal.verify().entries == ()
        assert home.check_evidence() == 0

    asyncio.run(scenario())


def test_half_a_receipt_that_a_crash_left_spoils_no_other(tmp_path: Path) -> None:
    home = asyncio.run(lived(World(tmp_path, people(), settings=TRAINING), tmp_path / "me"))
    path = home.path / RECEIPTS
    last = read_receipts(path)[-1]
    path.write_bytes(path.read_bytes()[:-40])
    assert home.check_evidence() == ROUNDS - 1
    home.keep_receipt(last)
    assert home.check_evidence() == ROUNDS
