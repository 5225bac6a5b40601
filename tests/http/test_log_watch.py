"""A watcher that keeps the heads of a log tells forks, rollbacks and silence; who compares nothing does not."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest

from murmura.core.errors import DataError
from murmura.device.log_watch import NEWEST, LogWatcher, Look, SeenHead, WatchedLog
from murmura.server.loopback import COORDINATOR
from murmura.wire.log import LogHead, MerkleTree, leaf_hash, model_entry, pack_entries
from murmura.wire.refusals import RefusedError
from murmura.wire.transport import REPLY_BYTES, HttpReply
from tests.faults.malice import HeldKeys, logged
from tests.http.copied import Copied
from tests.http.network import World, people
from tests.http.processes import PATIENCE, served, write_table

TRAINING: dict[str, object] = {"rounds": 6, "clients": "all", "prior": False}


@pytest.fixture
def world(tmp_path: Path) -> Copied:
    return Copied(tmp_path, people(10), settings=TRAINING)


@dataclass
class ForkedLog:
    """All three machines lie: whoever asks here sees a log of other entries, signed by all."""

    world: World
    entries: list[bytes]
    signed: bool = True

    async def __call__(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, largest: int = REPLY_BYTES
    ) -> HttpReply:
        path = url.removeprefix(COORDINATOR)
        if not path.startswith("/log"):
            return await self.world.network(method, url, body, headers, largest=largest)
        tree = MerkleTree([leaf_hash(entry) for entry in self.entries])
        if path == "/log":
            return HttpReply(200, self.head(tree).encode())
        if path.startswith("/log/entries/"):
            return HttpReply(200, pack_entries(self.entries[int(path.rsplit("/", 1)[1]) :]))
        first, size = map(int, path.split("/")[-2:])
        if size > len(tree):
            return HttpReply(404, RefusedError("unknown", "no such size.").body())
        return HttpReply(200, b"".join(tree.consistency(first, size)))

    def head(self, tree: MerkleTree) -> LogHead:
        head = LogHead(len(tree), tree.root())
        federation = self.world.coordinator.rounds.terms.federation
        keys = HeldKeys.of(self.world, all_three=True)
        assert keys.seed is not None
        assert keys.vector is not None
        signed = [
            key.sign("head", head.content(federation)) for key in (keys.coordinator, keys.seed, keys.vector)
        ]
        return replace(head, coordinator=signed[0], seed=signed[1], vector=signed[2])


def forked(world: World) -> ForkedLog:
    """What is published of the true log, but for its last entry, and one entry more."""
    true = published(world)
    return ForkedLog(world, [*true[:-1], model_entry(1, b"\7" * 32), model_entry(2, rb"\8" * 32)])


def published(world: World) -> list[bytes]:
    """The entries that all three machines have signed."""
    head = LogHead.decode(world.coordinator.log_head())
    return logged(world)[: head.size]


async def begun(world: Copied, *watchers: LogWatcher) -> list[Look]:
    """A round, the first look of every watcher, and two rounds more."""
    devices = await world.everyone()
    await world.rounds(devices, 1)
    world.copy("older")
    looks = [await watcher.look(0.0) for watcher in watchers]
    await world.rounds(devices, 2)
    return looks


def watching(world: World, name: str = "heads.json", *others: str) -> LogWatcher:
    return LogWatcher(world.network, COORDINATOR, world.folder / name, others=others)


def test_a_log_that_grows_is_unbroken_and_its_heads_are_kept(world: Copied) -> None:
    async def played() -> None:
        watcher = watching(world)
        (first,) = await begun(world, watcher)
        assert first.verdict == "unbroken"
        second = await watcher.look(60.0)
        shown = published(world)
        root = MerkleTree([leaf_hash(entry) for entry in shown]).root().hex()
        assert second.sentence == f"unbroken, {len(shown)} entries, root {root[:16]}…"
        kept = WatchedLog.read(watcher.path.read_bytes(), "heads")
        assert [one.time for one in kept.heads] == [0.0, 60.0]
        assert not kept.evidence
        assert (await watching(world).look(120.0)).verdict == "unbroken"  # started again, nothing has grown
        assert len(WatchedLog.read(watcher.path.read_bytes(), "heads").heads) == 2

    asyncio.run(played())


def test_a_log_that_goes_back_is_told_at_the_next_look(world: Copied) -> None:
    async def played() -> None:
        watcher = watching(world)
        await begun(world, watcher)
        assert (await watcher.look(60.0)).verdict == "unbroken"
        before = len(published(world))
        world.restore("older", "coordinator", "seed", "vector")
        look = await watcher.look(120.0)
        assert look.verdict == "gone back"
        assert f"{before} entries were seen, but only" in look.sentence
        (evidence,) = WatchedLog.read(watcher.path.read_bytes(), "heads").evidence
        evidence.head.check(world.coordinator.rounds.terms)

    asyncio.run(played())


def test_a_watchers_own_file_that_was_restored_hides_a_rollback_only_from_who_compares_nothing(
    world: Copied,
) -> None:
    """Servers and watcher go back together: the older head fits. Another watcher's file tells."""

    async def played() -> None:
        watcher, other = watching(world), watching(world, "other.json")
        await begun(world, watcher, other)
        older = watcher.path.read_bytes()
        for one in (watcher, other):
            assert (await one.look(60.0)).verdict == "unbroken"
        world.restore("older", "coordinator", "seed", "vector")
        watcher.path.write_bytes(older)
        assert (await watcher.look(120.0)).verdict == "unbroken"
        look = await watching(world, "heads.json", str(other.path)).look(180.0)
        assert look.verdict in ("forked", "gone back"), look.sentence

    asyncio.run(played())


def test_a_log_that_forks_for_one_watcher_is_told_at_the_next_look(world: Copied) -> None:
    async def played() -> None:
        watcher = watching(world)
        await begun(world, watcher)
        assert (await watcher.look(60.0)).verdict == "unbroken"
        look = await LogWatcher(forked(world), COORDINATOR, watcher.path).look(120.0)
        assert look.verdict == "forked"
        seen = WatchedLog.read(watcher.path.read_bytes(), "heads")
        assert len(seen.heads) == 2
        for one in (*seen.heads, *seen.evidence):  # both signed by all: anybody can be shown this file
            one.head.check(world.coordinator.rounds.terms)

    asyncio.run(played())


@pytest.mark.parametrize("longer", [False, True], ids=["the other is longer", "the other is shorter"])
def test_two_watchers_who_are_shown_two_logs_find_it_by_their_files(world: Copied, longer: bool) -> None:
    async def played() -> None:
        victim = LogWatcher(world.network, COORDINATOR, world.folder / "victim.json")
        mine = watching(world, "mine.json", "victim.json")
        mine.others = [str(victim.path)]
        await begun(world, victim)
        lie = forked(world)
        lie.entries = lie.entries[: -2 if longer else None]
        victim.send = lie
        if longer:
            lie.entries[-1:] = [model_entry(1, b"\7" * 32)]
        # alone neither can know: each log extends what its watcher saw
        assert (await victim.look(60.0)).verdict == "unbroken"
        assert (await watching(world, "alone.json").look(60.0)).verdict == "unbroken"
        look = await mine.look(60.0)
        assert look.verdict == "forked"
        assert "victim.json was shown another log" in look.sentence
        kept = WatchedLog.read(mine.path.read_bytes(), "heads")
        roots = {one.head.root for one in (*kept.heads, *kept.evidence)}
        assert len(roots) == 2

    asyncio.run(played())


def test_a_log_that_stops_and_machines_that_do_not_answer_are_told(world: Copied) -> None:
    async def played() -> None:
        watcher = watching(world)
        watcher.idle = 100.0
        await begun(world, watcher)
        assert [(await watcher.look(now)).verdict for now in (60.0, 160.0, 161.0)] == [
            "unbroken",
            "unbroken",
            "stopped",
        ]
        world.network.down.add(COORDINATOR)
        look = await watcher.look(170.0)
        assert look.verdict == "stopped"
        assert "is down" in look.sentence

    asyncio.run(played())


def test_a_first_look_reads_every_entry(world: Copied) -> None:
    async def played() -> None:
        await begun(world)
        lie = forked(world)
        lie.entries = [lie.entries[0], lie.entries[0], *lie.entries[2:]]
        look = await LogWatcher(lie, COORDINATOR, world.folder / "new.json").look(0.0)
        assert look.verdict == "forked"
        assert not (world.folder / "new.json").exists()

    asyncio.run(played())


def test_files_that_prove_nothing_are_not_compared(world: Copied) -> None:
    async def played() -> None:
        watcher = watching(world)
        await begun(world, watcher)
        good = WatchedLog.read(watcher.path.read_bytes(), "heads")
        (seen,) = good.heads
        invented = replace(good, heads=(replace(seen, head=replace(seen.head, root=b"\1" * 32)),))
        for name, content in {
            "nothing.json": b"{}",
            "deep.json": b"[" * 100_000,
            "stranger.json": json.dumps(json.loads(watcher.path.read_bytes()) | {"federation": "00"}).encode(),
        }.items():
            (world.folder / name).write_bytes(content)
        invented.write(world.folder / "invented.json")
        for name in ("nothing.json", "deep.json", "stranger.json", "invented.json", "missing.json"):
            watcher.others = [str(world.folder / name)]
            look = await watcher.look(60.0)
            assert look.verdict == "not compared"
            assert name in look.sentence
        assert not WatchedLog.read(watcher.path.read_bytes(), "heads").evidence

    asyncio.run(played())


def test_the_file_of_another_federation_is_refused_and_stays(world: Copied, tmp_path: Path) -> None:
    async def played() -> None:
        watcher = watching(world)
        await begun(world, watcher)
        other = replace(WatchedLog.read(watcher.path.read_bytes(), "heads"), federation="00" * 16)
        other.write(watcher.path)
        content = watcher.path.read_bytes()
        with pytest.raises(DataError, match="is of another"):
            await watcher.look(60.0)
        assert watcher.path.read_bytes() == content

    asyncio.run(played())


def test_of_old_heads_one_an_hour_stays() -> None:
    watched = WatchedLog("00", b"")
    for minute in range(3 * NEWEST):
        watched = watched.with_head(SeenHead(60.0 * minute, LogHead(minute, bytes(32))))
    assert NEWEST < len(watched.heads) <= NEWEST + 2 * NEWEST // 60 + 2
    times = [one.time for one in watched.heads]
    assert times == sorted(times)
    assert times[-1] == 60.0 * (3 * NEWEST - 1)
    assert max(b - a for a, b in pairwise(times)) <= 3660.0


@pytest.mark.process
def test_the_command_says_in_one_line_that_a_server_stopped(tmp_path: Path) -> None:
    table = write_table(people(), tmp_path / "likes.csv")
    begin = ("--wait-for", 12, "--start", "--exact")
    with served(tmp_path, "--like", table, "--model", "fed-item-knn", *begin) as here:
        here.agreed()
        words = ("log", "watch", here.url, "--state", tmp_path / "heads.json", "--json")
        here.processes.start("once", *words, "--once")
        here.processes.wait("once")
        here.processes.start("watcher", *words, "--interval", 1)
        while not here.processes.out("watcher"):
            assert here.processes.running["watcher"].poll() is None, here.processes.log("watcher")
            time.sleep(0.05)
        here.processes.running["coordinator"].kill()
        while len(lines := here.processes.out("watcher").splitlines()) < 2:
            time.sleep(0.05)
        here.processes.start("again", *words, "--once")
        assert here.processes.running["again"].wait(PATIENCE) == RefusedError.exit_code
        said = [json.loads(line)["verdict"] for line in (*lines, *here.processes.out("again").splitlines())]
    assert said == ["unbroken", "stopped", "stopped"]
    kept = WatchedLog.read((tmp_path / "heads.json").read_bytes(), "heads")
    assert len(kept.heads) == 1
