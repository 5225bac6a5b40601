"""Tasks for worker processes of tests."""

import os
import signal
import time
from pathlib import Path

from murmura.studies import worker_pool
from murmura.studies.worker_pool import held


def die_once(number: int) -> int:
    """The square; who is the first to be at work on 3 is killed."""
    folder: Path = held()
    if number == 3:
        try:
            (folder / "killed").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
    return number * number


def die_once_each(number: int) -> int:
    """The number; who is the first to be at work on each is killed."""
    folder: Path = held()
    try:
        (folder / f"{number}.killed").touch(exist_ok=False)
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        return number
    raise AssertionError("was killed")


def wait_for(name: str) -> int:
    """Be at work until a file is there; how often it was begun."""
    folder: Path = held()
    with (folder / "begun").open("a") as begun:
        begun.write("x")
    while not (folder / name).exists():
        time.sleep(0.05)
    return len((folder / "begun").read_text())


def count_held() -> int:
    return len(worker_pool._held)


def die_always(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def count_arrivals(number: int) -> int:
    """What the worker holds says how often it came to this process."""
    return held().arrivals  # type: ignore[no-any-return]


class Counted:
    """Something common that knows how often it came to a process."""

    came = 0

    def __init__(self) -> None:
        self.arrivals = 0

    def __setstate__(self, state: dict[str, int]) -> None:
        type(self).came += 1
        self.arrivals = type(self).came
