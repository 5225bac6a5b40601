"""A small federation for browsers: real servers behind counting proxies, simulated people, invitations."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.browser.counting_proxy import CountingProxy, counting_proxy
from tests.ports import free_ports

PEOPLE, PLACES, FILMS = 9, 60, 60
MURMURA = [sys.executable, "-c", "from murmura.cli.app import main; main()"]


@dataclass
class BrowserFederation:
    """What a browser meets; `coordinator`, `seed` and `vector` are where it meets it."""

    folder: Path
    coordinator: CountingProxy
    seed: CountingProxy
    vector: CountingProxy
    links: list[str] = field(default_factory=list)  # invitations nobody has used

    def invitation(self) -> str:
        """The page with the right to take part, for one browser."""
        if not self.links:
            words = [*MURMURA, "invite", "create", "--state", str(self.folder / "seed"), "--browser"]
            words += ["--n", "10", "--federation", self.coordinator.url]
            self.links += subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
        return self.links.pop()

    def server_bytes(self) -> int:
        """What all servers together got in bodies from browsers."""
        return self.coordinator.bodies() + self.seed.bodies() + self.vector.bodies()

    def forget(self) -> None:
        """Count anew, tell the truth."""
        for one in (self.coordinator, self.seed, self.vector):
            one.seen.clear()
            one.lies.clear()
            one.down = False
            one.gate.set()
            one.held = 0

    def rounds_pass(self, n: int) -> None:
        """Wait until so many other rounds were announced: whatever could still come in this one has come."""
        seen = {self._announced()}
        while len(seen - {None}) <= n:
            time.sleep(0.05)
            seen.add(self._announced())

    def _announced(self) -> str | None:
        """The open round's tag; None between two."""
        try:
            with urllib.request.urlopen(f"http://{self.coordinator.target}/round", timeout=60) as reply:
                return str(reply.headers["etag"])
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            return None


def titles_table(path: Path) -> None:
    """People with two tastes, films by their titles; most places are left for browsers."""
    rng, lines = np.random.default_rng(1), ["user,item"]
    for person in range(PLACES):
        for film in rng.choice(np.arange(person % 2, FILMS, 2), 12, replace=False):
            lines.append(f'{person},"{"Night" if film % 2 else "Day"} {film:02d}, The ({1950 + film})"')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def browser_federation(folder: Path, *settings: str, hold: float = 0.0) -> Iterator[BrowserFederation]:
    """Servers, proxies and people at work until the block ends."""
    table, ports = folder / "likes.csv", free_ports(6)
    titles_table(table)
    with ExitStack() as stack:
        proxies = [
            stack.enter_context(counting_proxy(f"127.0.0.1:{own}", public))
            for own, public in zip(ports[:3], ports[3:])
        ]
        processes: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, processes)
        coordinator, seed, vector = proxies
        made = BrowserFederation(folder, coordinator, seed, vector)
        origin = ["--page-origin", made.coordinator.url]
        direct = f"http://127.0.0.1:{ports[0]}"
        for role, port in (("seed", ports[1]), ("vector", ports[2])):
            words = ["aggregate", role, "--state", folder / role, "--coordinator", direct, "--port", port]
            _start(processes, folder / f"{role}.log", *words, "--minimum", PEOPLE, *origin)
        words = ["serve", "--state", folder / "coordinator", "--like", table, "--port", ports[0], "--start"]
        words += ["--aggregator", made.seed.url, "--aggregator", made.vector.url, "--minimum", PEOPLE]
        words += ["--wait-for", PEOPLE, "--hold", hold, "--spread", 0, "--round-seconds", 6, "--seed", 1]
        words += ["--expire", 3, "--window", 0]
        _start(processes, folder / "coordinator.log", *words, *settings)
        _wait(folder / "seed.log", "invites devices", processes)
        invitations = folder / "invitations.txt"
        words = ["invite", "create", "--state", folder / "seed", "--n", PEOPLE, "--out", invitations]
        subprocess.run([*MURMURA, *map(str, words)], check=True, capture_output=True)
        words = ["devices", direct, "--data", table, "--n", PEOPLE, "--invitations", invitations]
        _start(processes, folder / "devices.log", *words)
        _wait(folder / "devices.log", "round 1", processes)
        yield made


def _start(processes: list[subprocess.Popen[bytes]], log: Path, *words: object) -> None:
    with log.open("wb") as file:
        processes.append(subprocess.Popen([*MURMURA, *map(str, words)], stdout=file, stderr=file))


def _wait(log: Path, text: str, processes: list[subprocess.Popen[bytes]]) -> None:
    while text not in log.read_text(encoding="utf-8"):
        assert all(process.poll() is None for process in processes), log.read_text(encoding="utf-8")
        time.sleep(0.05)


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()
