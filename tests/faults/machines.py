"""Real machines of a federation: processes forked from one that has everything imported, so that starting one
again after its death costs milliseconds.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from murmura.channel import key_pairs
from murmura.core.files import write_whole
from murmura.device.http_transport import HttpTransport
from murmura.wire.refusals import UnreachableError
from murmura.wire.signed_records import ServerKey
from tests.faults.launcher import CLOCK, RATE_CLOCK, Fate, moved_clock, run, seconds_in
from tests.ports import free_ports

PRELOADED = [
    "murmura.algorithms.fpl.fpl",
    "murmura.cli.app",
    "murmura.device.visits",
    "murmura.server.coordinator.coordinator",
    "murmura.device.simulated",
    "murmura.server.http.machine_app",
    "murmura.server.http.connections",
    "murmura.server.http.http_protocol",
    "murmura.server.http.serving",
    "httpx",
]
MINIMUM = 7  # no sum of fewer
SECONDS = 1200.0  # longer than anything here may take, however busy the machine


def nursery() -> multiprocessing.context.ForkServerContext:
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(PRELOADED)
    return made


@dataclass
class Machine:
    """One process, started as often as it dies."""

    name: str
    folder: Path  # its state; log and tally lie beside it
    words: list[str]
    url: str = ""
    process: BaseProcess | None = None
    deaths: int = 0

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    @property
    def tally(self) -> Path:
        return self.folder.with_suffix(".tally")

    @property
    def writes(self) -> int:
        return int(self.tally.read_text() or 0) if self.tally.exists() else 0

    def start(self, fate: Fate | None = None) -> None:
        self.process = nursery().Process(
            target=run, args=(self.words, self.log, fate or Fate(within=str(self.folder)), self.tally)
        )
        self.process.start()

    async def answers(self, send: HttpTransport) -> None:
        """Until it does."""
        assert self.process is not None
        for _ in range(int(SECONDS / 0.02)):
            assert self.process.is_alive(), (self.name, self.process.exitcode, self.log.read_text())
            try:
                await send("GET", f"{self.url}/healthz", b"", {})
                return
            except UnreachableError:
                await asyncio.sleep(0.02)
        raise AssertionError(f"{self.name} does not answer: {self.log.read_text()}")

    async def survive(self) -> None:
        """Start it again whenever it dies, for as long as somebody waits."""
        while True:
            await asyncio.sleep(0.02)
            if self.process is not None and not self.process.is_alive():
                assert self.process.exitcode in (-9, -25), (self.process.exitcode, self.log.read_text())
                self.deaths += 1
                self.start()

    async def live(self) -> None:
        """Until it ends by itself; started again when it is killed."""
        assert self.process is not None
        while self.process.exitcode != 0:
            await asyncio.sleep(0.02)
            if self.process.exitcode not in (None, 0):
                assert self.process.exitcode == -9, (self.process.exitcode, self.log.read_text())
                self.deaths += 1
                self.start()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()


@dataclass
class Machines:
    """A coordinator and two aggregators; `options` are of `murmura serve`."""

    folder: Path
    options: list[str]
    minimum: int = MINIMUM
    rate: float = 1e6
    admitter: ServerKey = field(
        default_factory=lambda: ServerKey(key_pairs.new_key("signing"))
    )  # a third party invites
    by_name: dict[str, Machine] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ports = free_ports(3)
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        shared = ["--minimum", str(self.minimum), "--rate", str(self.rate)]
        helpers = ["--aggregator", urls[1], "--aggregator", urls[2]]
        admission = ["--admitter", self.admitter.public.hex()]
        words = [
            ["serve", *self.options, *helpers, *admission, "--registrations", str(self.rate)],
            ["aggregate", "seed", "--no-admit", "--coordinator", urls[0]],
            ["aggregate", "vector", "--coordinator", urls[0]],
        ]
        for name, said, port, url in zip(("coordinator", "seed", "vector"), words, ports, urls):
            own = self.folder / name
            said = [*said, *shared, "--state", str(own), "--port", str(port)]
            self.by_name[name] = Machine(name, own, said, url)

    @property
    def url(self) -> str:
        return self.by_name["coordinator"].url

    def advance(self, seconds: float) -> None:
        """Let time pass for all machines."""
        self._add(CLOCK, seconds)

    def refill(self, seconds: float) -> None:
        """Let as many requests be answered as come in so many seconds."""
        self._add(RATE_CLOCK, seconds)

    def _add(self, clock: str, seconds: float) -> None:
        path = self.folder / clock
        write_whole(path, str(seconds_in(path) + seconds).encode())

    @property
    def clock(self) -> Callable[[], float]:
        """The time they all see."""
        return moved_clock(self.folder / CLOCK)

    async def start(self, send: HttpTransport, fates: dict[str, Fate] | None = None) -> None:
        for name, machine in self.by_name.items():
            machine.start((fates or {}).get(name))
        if not fates:
            for machine in self.by_name.values():
                await machine.answers(send)

    def kill(self) -> None:
        for machine in self.by_name.values():
            machine.kill()
