"""A whole federation on this machine: one coordinator, two aggregators, ten devices, each a process of its own.

Ten people with two tastes like fourteen of forty films each. Every device trains on ten of them and keeps four
back to see for itself whether the recommendations get better; nobody else learns which. Run: make federation
With STAY=1 the servers go on afterwards, with places for browsers, and the address of their page is printed.
"""

from __future__ import annotations

import argparse
import json
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from murmura.device.journal import journals

PEOPLE, FILMS, LIKES, ROUNDS = 10, 40, 14, 10
BROWSERS = 5  # places for them, where the servers stay
MURMURA = [sys.executable, "-c", "from murmura.cli.app import main; main()"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--stay", action="store_true", help="keep serving, with the page for browsers")
    stay = parser.parse_args().stay
    started, folder = time.monotonic(), Path(tempfile.mkdtemp(prefix="murmura-federation-"))
    with ending(folder) as processes:
        links = serve(folder, processes, BROWSERS if stay else 0)
        devices = [join(person, link, folder, processes) for person, link in enumerate(links)]
        print(f"coordinator, two aggregators and {PEOPLE} devices are starting; everything is in {folder}\n")
        watch(devices)
        left(folder)
        print(f"\ndone in {time.monotonic() - started:.0f} s")
        if stay:
            print(f"\nopen {page(folder)}\n\nCtrl-C ends everything", flush=True)
            processes[0].wait()


@contextmanager
def ending(folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """What is started in this block ends with it, by Ctrl-C and SIGTERM as well; then the folder goes."""
    processes: list[subprocess.Popen[str]] = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield processes
    except KeyboardInterrupt:
        print("\nstopped")
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # said again, it must not stop this
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
        shutil.rmtree(folder)


def serve(folder: Path, processes: list[subprocess.Popen[str]], browsers: int) -> list[str]:
    """The three servers, and an invitation for everyone; whoever runs the seed aggregator invites."""
    items, ports = folder / "films.txt", free_ports(3)
    items.write_text("".join(f"film-{n:02d}\n" for n in range(FILMS)), encoding="utf-8")
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    for role, port in (("seed", ports[1]), ("vector", ports[2])):
        words = ["aggregate", role, "--state", folder / role, "--coordinator", urls[0], "--port", port]
        start(processes, folder / f"{role}.log", *words, "--minimum", PEOPLE)
    words = [
        "serve",
        "--state",
        folder / "coordinator",
        "--items",
        items,
        "--clients",
        PEOPLE + browsers,
        "--port",
        ports[0],
    ]
    words += ["--interactions", PEOPLE * LIKES, "--aggregator", urls[1], "--aggregator", urls[2], "--start"]
    cohort = "all" if browsers else PEOPLE
    words += ["-S", f"clients={cohort}", "-S", f"rounds={ROUNDS}", "--minimum", PEOPLE, "--wait-for", PEOPLE]
    log = folder / "coordinator.log"
    start(processes, log, *words, "--seed", 1, "--hold", 0.2, "--spread", 0.3, "--round-seconds", 30)
    while "agreed on terms" not in (text := log.read_text(encoding="utf-8")):
        time.sleep(0.1)
    print(text.splitlines()[0])  # the warning about small cohorts
    while "invites devices" not in (folder / "seed.log").read_text(encoding="utf-8"):
        time.sleep(0.1)
    return invited(folder, "--n", str(PEOPLE)).split()


def page(folder: Path) -> str:
    """The address of the page, with an invitation for one browser."""
    return invited(folder, "--browser").strip()


def invited(folder: Path, *words: str) -> str:
    """What whoever runs the seed aggregator gives away."""
    invite = [*MURMURA, "invite", "create", "--state", str(folder / "seed"), *words]
    return subprocess.run(invite, check=True, capture_output=True, text=True).stdout


def join(person: int, link: str, folder: Path, processes: list[subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """A device with its own folder; its randomness is the system's."""
    taste = np.arange(person % 2, FILMS, 2)
    liked = np.random.default_rng(person).choice(taste, LIKES, replace=False)
    path = folder / f"likes-{person}.csv"
    path.write_text("user,item\n" + "".join(f"me,film-{n:02d}\n" for n in liked), encoding="utf-8")
    words = ["join", link, "--state", folder / f"device-{person}", "--data", path, "--minimum", PEOPLE]
    return start(processes, None, *words, "--keep-back", 0.3, "--json")


def watch(devices: list[subprocess.Popen[str]]) -> None:
    """Print the mean of what the devices say of themselves, round by round, as soon as all have come so far.

    A device that was busy while a round went by speaks for it with what it measured next.
    """
    said: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
    readers = [threading.Thread(target=listen, args=(n, device, said)) for n, device in enumerate(devices)]
    for reader in readers:
        reader.start()
    print("rounds done   kept-back films among the first ten recommendations (mean of the devices)")
    found: list[dict[int, float]] = [{} for _ in devices]  # rounds done -> share of the films kept back
    shown = -1
    while any(reader.is_alive() for reader in readers) or not said.empty():
        try:
            who, told = said.get(timeout=0.2)
        except queue.Empty:
            continue
        found[who][told["done"]] = told["hits"] / told["kept_back"]
        while shown < min(max(own, default=-1) for own in found):
            shown += 1
            here = [own[min(done for done in own if done >= shown)] for own in found]
            mean = sum(here) / len(here)
            print(f"{shown:11d}   {mean:4.0%} {'#' * round(40 * mean)}", flush=True)
    if any(device.wait() != 0 for device in devices):
        raise SystemExit("a device failed")


def listen(who: int, device: subprocess.Popen[str], said: queue.Queue[tuple[int, dict[str, Any]]]) -> None:
    """What one device measures, as it comes."""
    assert device.stdout is not None
    for line in device.stdout:
        told = json.loads(line)
        if told["event"] == "measured":
            said.put((who, told))


def left(folder: Path) -> None:
    """What left each device, from its own journal, checked link by link."""
    print("\nwhat left each device, by its own journal (every line verified):")
    for journal in journals(folder):
        entries = journal.verify().entries
        sizes = sorted({(entry.phase, entry.bytes) for entry in entries})
        shown = ", ".join(f"{phase} {size:,} bytes" for phase, size in sizes)
        total = sum(entry.bytes for entry in entries)
        print(
            f"{journal.path.parent.name:10s} {len(entries)} uploads, {total:,} bytes ({shown} each); "
            f"{entries[-1].disclosed:.0%} of its likes were part of a sum"
        )
    print("uploads of a phase are equally long for everyone, and each is two shares that look random alone.")


def start(processes: list[subprocess.Popen[str]], log: Path | None, *words: object) -> subprocess.Popen[str]:
    """Run `murmura` with these words; its messages go to the log, or with its output to us."""
    out = subprocess.PIPE if log is None else subprocess.DEVNULL
    asked: list[int] = []  # a signal between a start and its line here would leave the process behind
    before = signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    with (log or Path("/dev/null")).open("w", encoding="utf-8") as messages:
        made = subprocess.Popen([*MURMURA, *map(str, words)], stdout=out, stderr=messages, text=True)
    processes.append(made)
    signal.signal(signal.SIGTERM, before)
    if asked:
        sys.exit(128 + signal.SIGTERM)
    return made


def free_ports(n: int) -> list[int]:
    """Ports nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


if __name__ == "__main__":
    main()
