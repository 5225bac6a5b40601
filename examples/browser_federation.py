"""A federation with a page: a coordinator, two aggregators and sixty simulated people of an embedded data set.

Open the address that is printed: your browser is one more device. Nothing about you leaves it until you say so
on the page. Stop with Ctrl-C or SIGTERM; everything is deleted then. Run: make demo-web
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from federation import ending, free_ports, invited, page, start

DATA, PEOPLE, ROUNDS = "embedded", 60, 500
METHOD = ["--model", "cfpl", "-S", "clients=all", "-S", f"rounds={ROUNDS}", "-S", "factors=12"]


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="murmura-page-"))
    with ending(folder) as processes:
        print("starting a coordinator, two aggregators and sixty devices …", flush=True)
        url = federation(folder, processes)
        print(f"\nopen {url}\n\nyour browser is one more device; Ctrl-C ends everything", flush=True)
        seconds = float(os.environ.get("MURMURA_DEMO_SECONDS", "inf"))
        until = time.monotonic() + seconds
        while time.monotonic() < until and all(process.poll() is None for process in processes[:3]):
            time.sleep(0.5)


def federation(folder: Path, processes: list[subprocess.Popen[str]]) -> str:
    """Everything but the browser; the address of the page."""
    coordinator, *others = [f"http://127.0.0.1:{port}" for port in free_ports(3)]
    for role, url in zip(("seed", "vector"), others):
        words = ["aggregate", role, "--state", folder / role, "--coordinator", coordinator]
        start(
            processes,
            folder / f"{role}.log",
            *words,
            "--port",
            url.rpartition(":")[2],
            "--minimum",
            PEOPLE // 2,
        )
    words = [
        "serve",
        "--state",
        folder / "coordinator",
        "--like",
        DATA,
        "--port",
        coordinator.rpartition(":")[2],
    ]
    words += ["--aggregator", others[0], "--aggregator", others[1], "--start"]
    words += ["--minimum", PEOPLE // 2, "--wait-for", PEOPLE, "--window", 0, "--registrations", 1000]
    times = ["--hold", 0.2, "--spread", 0.5, "--round-seconds", 15]
    log = folder / "coordinator.log"
    start(processes, log, *words, *times, *METHOD)
    wait_for(folder / "seed.log", "invites devices", processes)
    invitations = folder / "invitations.txt"
    invited(folder, "--n", str(PEOPLE), "--out", str(invitations))
    devices = ["devices", coordinator, "--data", DATA, "--n", PEOPLE, "--invitations", invitations]
    start(processes, folder / "devices.log", *devices)
    wait_for(folder / "devices.log", "(train)", processes)  # a page has something to rank with
    return page(folder)


def wait_for(log: Path, text: str, processes: list[subprocess.Popen[str]]) -> None:
    """Until a server has said something; what it said instead where it ended."""
    while text not in log.read_text(encoding="utf-8"):
        if any(process.poll() is not None for process in processes):
            sys.exit(log.read_text(encoding="utf-8"))
        time.sleep(0.1)


if __name__ == "__main__":
    main()
