"""A real federation under load: coordinator and two aggregators as processes, devices over loopback HTTP.

round     1,000 devices, all in every round, with a model of the size of ml-1m
sampled   10,000 devices registered, 1,000 of them called in a round
memory    100 rounds: what the servers hold after the last is what they held after the first ten
before    the first row beside the commit before wire version 2, with what it asked to be installed

The time is the CPU time of the three servers for 1,000 uploads; what the devices need is not counted.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from benchmarks.sides import Benchmark, Skipped, Work
from murmura.core.consent import Permission
from murmura.data.sources.synthetic import synth
from murmura.device.enrolment import about
from murmura.device.http_transport import HttpTransport
from murmura.device.simulated import RoundReport, SimulatedDevices, register_devices, run_devices
from murmura.device.trust import agreed_terms
from murmura.device.visits import ManifestEvents
from murmura.server.admissions import FILE, Admitter
from murmura.server.database import ServerDatabase
from murmura.wire.admission import OwnAdmission
from murmura.wire.refusals import UnreachableError

MURMURA = [sys.executable, "-c", "from murmura.cli.app import main; main()"]
HERE = Path(__file__).parent.parent
BEFORE = "cd1700f"  # wire version 1: no terms, no sealed shares, no admissions, no log
# that commit did not ask for httptools, so uvicorn took its slower parser
BEFORE_RUNS = """
import dataclasses, json, sys
from benchmarks import federation
federation.MURMURA[-1] = "import sys; sys.modules['httptools'] = None; " + federation.MURMURA[-1]
print(json.dumps(dataclasses.asdict(federation.run(federation.LOADS["round"]))))
"""
FLAT_MB = 16.0  # memory that grows by less over the last nine tenths of the rounds is flat


@dataclass(frozen=True)
class Load:
    """One federation."""

    devices: int
    called: int
    rounds: int
    items: int
    factors: int


LOADS = {
    "round": Load(devices=1000, called=1000, rounds=2, items=3706, factors=20),
    "sampled": Load(devices=10_000, called=1000, rounds=2, items=500, factors=8),
    "memory": Load(devices=24, called=20, rounds=100, items=3706, factors=20),
}


@dataclass
class Measured:
    """What it took."""

    uploads: int = 0
    cpu: float = 0.0  # seconds of all servers while rounds ran
    wall: float = 0.0
    joining: float = 0.0  # seconds of all servers while devices joined
    bytes_up: int = 0
    committed: int = 0
    held: list[float] = field(default_factory=list)  # MB of all servers after each round


class Servers:
    """Three processes; their CPU time and memory."""

    def __init__(self, folder: Path, load: Load) -> None:
        ports = free_ports(3)
        self.admitter = folder / "1" / FILE
        self.urls = [f"http://127.0.0.1:{port}" for port in ports]
        shared = ["--minimum", str(min(20, load.called)), "--rate", "1000000"]
        chosen = {"rounds": load.rounds, "clients": load.called, "factors": load.factors, "prior": False}
        words = [
            ["serve", "--items", str(folder / "items.txt"), "--clients", str(load.devices), "--start"],
            ["aggregate", "seed", "--coordinator", self.urls[0]],
            ["aggregate", "vector", "--coordinator", self.urls[0]],
        ]
        for url in self.urls[1:]:
            words[0] += ["--aggregator", url]
        for name, value in chosen.items():
            words[0] += ["-S", f"{name}={value}"]
        words[0] += ["--interactions", str(20 * load.devices), "--wait-for", str(load.devices)]
        words[0] += ["--registrations", "1000000"]
        words[0] += ["--round-seconds", "900", "--hold", "0", "--spread", "0"]
        self.processes = [
            subprocess.Popen(
                [*MURMURA, *said, *shared, "--state", str(folder / str(n)), "--port", str(port)],
                stderr=subprocess.DEVNULL,
            )
            for n, (said, port) in enumerate(zip(words, ports))
        ]

    @property
    def cpu(self) -> float:
        """Seconds, of all."""
        ticks = [Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split() for one in self.processes]
        return sum(int(t[11]) + int(t[12]) for t in ticks) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """MB, of all."""
        pages = [int(Path(f"/proc/{one.pid}/statm").read_text().split()[1]) for one in self.processes]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1024**2

    def stop(self) -> None:
        """End them."""
        for one in self.processes:
            one.terminate()
        for one in self.processes:
            one.wait(20)


def free_ports(n: int) -> list[int]:
    """Ports nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def serving(folder: Path, load: Load) -> Iterator[Servers]:
    servers = Servers(folder, load)
    try:
        yield servers
    finally:
        servers.stop()


async def answering(send: HttpTransport, url: str) -> None:
    """Wait for a server."""
    while True:
        try:
            await about(send, url)
            return
        except UnreachableError:
            await asyncio.sleep(0.1)


async def invitations(path: Path, count: int) -> list[OwnAdmission]:
    """One for every device, by the operator of the seed aggregator, once it knows the federation."""
    admitter = Admitter(ServerDatabase(path, "admitter"))
    while admitter.terms is None:
        await asyncio.sleep(0.1)
    made = [one.admission for one in admitter.invite(count)]
    return [one for one in made if one is not None]


async def voyage(load: Load, servers: Servers, simulated: SimulatedDevices) -> Measured:
    """All devices until the federation is finished."""
    found = Measured()

    def tell(report: RoundReport) -> None:
        found.uploads += report.outcomes.get("sent", 0)
        found.bytes_up += report.bytes_up
        found.held.append(servers.memory)

    async with HttpTransport(connections=64) as send:
        await answering(send, simulated.url)
        await agreed_terms(send, simulated.url)
        invited = await invitations(servers.admitter, load.devices)
        simulated = replace(simulated, admission=invited.__getitem__)
        before = servers.cpu
        devices = await register_devices(simulated, send)
        found.joining = servers.cpu - before
        started, before = time.monotonic(), servers.cpu
        events = ManifestEvents(send, simulated.url)
        try:
            await run_devices(devices, events, send, tell)
        finally:
            await events.close()
        found.wall, found.cpu = time.monotonic() - started, servers.cpu - before
        found.committed = int((await about(send, simulated.url))["rounds_done"])
    return found


def run(load: Load) -> Measured:
    """Start everything, sail, stop."""
    data = synth(load.devices, load.items, 20 * load.devices).interactions
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "items.txt").write_text("\n".join(map(str, data.items.labels.tolist())), encoding="utf-8")
        with serving(folder, load) as servers:
            simulated = SimulatedDevices(
                servers.urls[0], data, 1, range(load.devices), lambda _: Permission(), readable=False
            )
            return asyncio.run(voyage(load, servers, simulated))


def ours(part: str) -> Work:
    return cache(partial(run, LOADS[part]))  # once is enough: it states its own time


def before() -> Work:
    """The same load on an older commit, by its own benchmark, which is unpacked into build/."""
    folder = HERE / "build" / f"before-{BEFORE}"
    packed = subprocess.run(["git", "archive", BEFORE], cwd=HERE, capture_output=True, check=False)
    if packed.returncode:
        raise Skipped(f"commit {BEFORE} is not in this repository")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)

    @cache
    def work() -> Measured:
        paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)])}
        said = subprocess.run(
            [sys.executable, "-c", BEFORE_RUNS],
            cwd=folder,
            env=paths,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return Measured(**json.loads(said.splitlines()[-1]))

    return work


def judge_beside(mine: Measured, other: Measured) -> tuple[str, str]:
    assert (mine.committed, mine.uploads) == (other.committed, other.uploads), "both did the same rounds"
    first, second = (
        f"{found.uploads / found.cpu:,.0f} uploads of {found.bytes_up / found.uploads / 1e3:,.1f} kB per "
        f"server CPU second, {found.wall / found.committed:.0f} s a round"
        for found in (mine, other)
    )
    return first, second


def judge(part: str, found: Measured, _: None) -> tuple[str, str]:
    load = LOADS[part]
    assert found.committed == load.rounds, f"{found.committed} of {load.rounds} rounds were completed"
    assert found.uploads == load.called * load.rounds, f"{found.uploads} uploads arrived"
    early, late = found.held[len(found.held) // 10], found.held[-1]
    if part == "memory":
        assert late - early < FLAT_MB, f"memory grew from {early:.0f} to {late:.0f} MB"
    return (
        f"{load.rounds} rounds completed, {found.uploads:,} uploads of "
        f"{found.bytes_up / max(1, found.uploads) / 1e3:,.1f} kB, {found.uploads / found.cpu:,.0f} uploads per "
        f"server CPU second, {found.wall / load.rounds:.1f} s a round; {load.devices:,} devices joined in "
        f"{found.joining:.1f} CPU s; servers' memory {early:.0f} MB after a tenth of the rounds, {late:.0f} MB "
        "at the end"
    ), ""


def per_thousand(found: Measured) -> float:
    return float(1000 * found.cpu / found.uploads)


def _benchmark(part: str, title: str, goal: float) -> Benchmark:
    return Benchmark(
        title=title, ours=partial(ours, part), goal=goal, judge=partial(judge, part), timed=per_thousand
    )


BENCHMARKS = {
    "round": _benchmark("round", "federation: 1,000 devices in a round, 1,000 uploads", 10.0),
    "sampled": _benchmark("sampled", "federation: 1,000 of 10,000 devices a round, 1,000 uploads", 20.0),
    "memory": _benchmark("memory", "federation: 100 rounds, 1,000 uploads", 10.0),
    "before": Benchmark(
        title="federation: 1,000 devices in a round, 1,000 uploads, beside wire version 1",
        ours=partial(ours, "round"),
        goal=1.5,
        judge=judge_beside,
        theirs=before,
        rival=f"commit {BEFORE}",
        timed=per_thousand,
        rounds=1,
    ),
}
