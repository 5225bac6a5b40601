"""A federation of real processes on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from murmura.core.interactions import Interactions
from tests.ports import free_ports

MURMURA = [sys.executable, "-c", "from murmura.cli.app import main; main()"]
PATIENCE = 600.0  # of a busy machine


def write_table(data: Interactions, path: Path) -> Path:
    lines = [f"{data.users.labels[u]},{data.items.labels[i]}" for u, i in zip(data.user, data.item)]
    head = "user,item"
    if data.time is not None:
        head, lines = f"{head},time", [f"{line},{when}" for line, when in zip(lines, data.time)]
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


@dataclass
class Processes:
    """Everything that was started; each with its own log."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *arguments: object) -> subprocess.Popen[bytes]:
        out = (self.folder / f"{name}.out").open("ab")
        log = (self.folder / f"{name}.log").open("ab")
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        made = subprocess.Popen(
            [*MURMURA, *map(str, arguments)], stdout=out, stderr=log, env={**os.environ, **one}
        )
        out.close()
        log.close()
        self.running[name] = made
        return made

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8")

    def out(self, name: str) -> str:
        return (self.folder / f"{name}.out").read_text(encoding="utf-8")

    def wait(self, name: str) -> None:
        code = self.running[name].wait(PATIENCE)
        assert code == 0, (name, code, self.log(name)[-2000:])

    def stop(self) -> None:
        for one in self.running.values():
            if one.poll() is None:
                one.terminate()
        for one in self.running.values():
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


@dataclass
class Served:
    """A coordinator and two aggregators that answer."""

    processes: Processes
    url: str
    helpers: tuple[str, str]
    arguments: dict[str, tuple[object, ...]]

    @property
    def folder(self) -> Path:
        return self.processes.folder

    def agreed(self) -> None:
        """Until the three machines have come to terms, and devices can join."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if json.loads(get(f"{self.url}/federation"))["terms"]:
                return
            time.sleep(0.05)
        raise AssertionError(f"they do not agree: {self.processes.log('coordinator')}")

    def invite(self, n: int) -> list[str]:
        """Links of one-use invitations, by whoever runs the seed aggregator."""
        while "invites devices" not in self.processes.log("seed"):
            assert self.processes.running["seed"].poll() is None, self.processes.log("seed")
            time.sleep(0.05)
        words = ["invite", "create", "--state", str(self.folder / "seed"), "--n", str(n)]
        made = subprocess.run([*MURMURA, *words], check=True, capture_output=True, text=True)
        return made.stdout.split()

    def invite_file(self, n: int) -> Path:
        """A file of such links."""
        path = self.folder / "invitations.txt"
        path.write_text("\n".join(self.invite(n)) + "\n", encoding="utf-8")
        return path

    def restart(self, name: str) -> None:
        self.processes.start(name, *self.arguments[name])


@contextmanager
def served(folder: Path, *options: object, minimum: int = 10) -> Iterator[Served]:
    ports = free_ports(3)
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    processes = Processes(folder)
    letting_in = ("--no-admit",) if "open" in options else ()  # who invites agrees to no open federation
    common = ("--coordinator", urls[0], "--minimum", minimum, "--rate", 100000, *letting_in)
    arguments: dict[str, tuple[object, ...]] = {
        role: ("aggregate", role, "--state", folder / role, "--port", port, *common)
        for role, port in (("seed", ports[1]), ("vector", ports[2]))
    }
    helpers = ("--aggregator", urls[1], "--aggregator", urls[2])
    many = ("--rate", 100000, "--registrations", 100000)
    serving = ("--state", folder / "coordinator", "--port", ports[0], "--minimum", minimum, *many)
    arguments["coordinator"] = ("serve", *serving, *helpers, *options)
    try:
        for name, words in arguments.items():
            processes.start(name, *words)
        for name, url in zip(("coordinator", "seed", "vector"), urls):
            answers(url, processes, name)
        yield Served(processes, urls[0], (urls[1], urls[2]), arguments)
    finally:
        processes.stop()


def answers(url: str, processes: Processes, name: str) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert processes.running[name].poll() is None, processes.log(name)
        try:
            get(f"{url}/healthz")
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{name} does not answer: {processes.log(name)}")


def get(url: str, headers: dict[str, str] | None = None) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=PATIENCE) as reply:
        return reply.read()
