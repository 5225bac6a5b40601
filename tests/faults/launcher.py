"""A machine of the federation as a process that can be struck down at any write, or whose disk is full.

The product knows nothing of this: before the command runs, `sqlite3.connect`, `os.fsync`, `os.replace`,
`os.open` and `os.unlink` are wrapped here, and every change they make to a disk is counted twice, before and
after. At the n-th count the process kills itself with SIGKILL, which nothing can catch. A limit on the size of
files does the rest: the write that would cross it is cut off in the middle, and then the process dies or is
told that there is no space. The wall clock can be moved: a file says by how many seconds. The seconds for which
an address may ask again pass only as another file says, so that none of it depends on how fast a machine is.
"""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLOCK = "clock"  # the file beside the machines' folders
RATE_CLOCK = "rate-clock"
READS = ("SELECT", "PRAGMA")


@dataclass(frozen=True)
class Fate:
    """What happens to a process."""

    kill_at: int = 0  # the count at which it dies; 0: never
    torn_at: int = 0  # it dies in the middle of the write that would make a file longer than this; 0: never
    full_at: int = 0  # such a write fails instead, as on a full disk; 0: never
    within: str = ""  # only below this folder writes are counted
    careless: Callable[[], None] | None = None  # takes a check out of the product, before the command runs


class Writes:
    """Counts what reaches a disk, and kills this process when its time has come."""

    def __init__(self, fate: Fate, tally: Path) -> None:
        self._fate, self._count = fate, 0
        self._tally = os.open(tally, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def one(self) -> None:
        self._count += 1
        os.pwrite(self._tally, str(self._count).encode(), 0)
        if self._count == self._fate.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, real: Callable[..., Any], counts: Callable[..., bool]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            if not counts(*args):
                return real(*args, **named)
            self.one()
            result = real(*args, **named)
            self.one()
            return result

        return wrapped

    def below(self, *paths: Any) -> bool:
        return all(isinstance(path, str | Path) and self._fate.within in str(path) for path in paths)


def install(fate: Fate, tally: Path) -> None:
    writes = Writes(fate, tally)

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql.lstrip().upper().startswith(READS):
                return super().execute(sql, *values)
            writes.one()
            cursor = super().execute(sql, *values)
            writes.one()
            return cursor

    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **named: connect(*args, **named, factory=Connection)  # type: ignore[assignment]
    os.replace = writes.around(os.replace, writes.below)
    os.unlink = writes.around(os.unlink, lambda path, *_: writes.below(path))
    os.fsync = writes.around(os.fsync, lambda file: writes.below(Path(f"/proc/self/fd/{file}").readlink()))
    os.open = writes.around(os.open, lambda path, flags, *_: bool(flags & os.O_CREAT) and writes.below(path))
    limit = fate.torn_at or fate.full_at
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if fate.torn_at else signal.SIG_IGN)


def moved_clock(ahead: Path) -> Callable[[], float]:
    """The wall clock, as many seconds ahead as the file says."""
    real = time.time
    return lambda: real() + seconds_in(ahead)


def seconds_in(file: Path) -> float:
    return float(file.read_text() or 0) if file.exists() else 0.0


def install_rate_clock(file: Path) -> None:
    """Requests are counted by the seconds in the file."""
    from murmura.server.http.limits import RateLimiter

    real = RateLimiter.__init__

    def counted(
        self: RateLimiter, rate: float, burst: float, clock: Callable[[], float], what: str = "requests"
    ) -> None:
        real(self, rate, burst, lambda: seconds_in(file), what)

    RateLimiter.__init__ = counted  # type: ignore[method-assign]


def run(words: list[str], log: Path, fate: Fate, tally: Path) -> None:
    """Become `murmura WORDS`; what it says goes to a file."""
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(said, stream)
    sys.stdout, sys.stderr = (open(at, "w", buffering=1, closefd=False) for at in (1, 2))  # noqa: SIM115
    time.time = moved_clock(log.parent / CLOCK)
    install_rate_clock(log.parent / RATE_CLOCK)
    install(fate, tally)
    if fate.careless is not None:
        fate.careless()
    from murmura.cli.app import main

    sys.argv = ["murmura", *words]
    main()
