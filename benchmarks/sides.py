"""Two sides of a benchmark, each in a process of its own, asked in turn so that both meet the same machine."""

import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from statistics import median
from typing import Any

ROUNDS = 5

Work = Callable[[], Any]  # what is timed; its answer is compared after
Side = Callable[[], Work]  # prepares everything that is not timed


class Skipped(Exception):  # noqa: N818 -- nothing is wrong
    """A row that cannot be measured on this machine, and why."""


@dataclass(frozen=True)
class Measured:
    """One side: its median seconds, the peak memory of its process, and what it answered."""

    seconds: float
    peak_mb: float
    answer: Any


@dataclass(frozen=True)
class Benchmark:
    """What is compared with whom; `goal` is how many times as fast, or without a rival how many seconds."""

    title: str
    ours: Side
    goal: float
    judge: Callable[[Any, Any], tuple[str, str]]  # asserts equal work; the quality of either side, in words
    theirs: Side | None = None
    rival: str = ""
    unit: str = ""  # what `work` counts
    work: Callable[[Any], float] | None = None  # units done, for a rate
    timed: Callable[[Any], float] | None = None  # the seconds an answer states; None: the CPU seconds it took
    rounds: int = ROUNDS
    absolute: bool = False  # the goal is in seconds though a rival stands beside it
    together: bool = False  # both sides in one process, for a ratio near 1; they share its peak memory

    def __post_init__(self) -> None:
        assert (self.theirs is None) == (self.rival == "")


def find(name: str) -> Benchmark:
    """The benchmark of a module of this folder, or "module:part" where it has several."""
    module, _, part = name.partition(":")
    found = import_module(f"benchmarks.{module}")
    benchmark: Benchmark = found.BENCHMARKS[part] if part else found.BENCHMARK
    return benchmark


@cache
def _prepared(name: str, side: str) -> Work:
    work: Work = getattr(find(name), side)()
    work()  # compiled and cached before it is timed
    return work


def _once(name: str, side: str, last: bool) -> Measured:
    work, timed = _prepared(name, side), find(name).timed
    start = time.process_time()
    answer = work()
    seconds = time.process_time() - start if timed is None else timed(answer)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(seconds, peak, answer if last else None)


def measure(name: str, sides: list[str]) -> list[Measured]:
    """The median of some rounds of each side, the sides in turn."""
    spawn, benchmark = get_context("spawn"), find(name)
    processes = [ProcessPoolExecutor(1, mp_context=spawn) for _ in (sides[:1] if benchmark.together else sides)]
    pools = processes * len(sides) if benchmark.together else processes
    try:
        seen: list[list[Measured]] = [[] for _ in sides]
        for done in range(benchmark.rounds):
            for place, side in enumerate(sides):
                last = done == benchmark.rounds - 1
                seen[place].append(pools[place].submit(_once, name, side, last).result())
    finally:
        for pool in processes:
            pool.shutdown()
    return [Measured(median(m.seconds for m in rows), rows[-1].peak_mb, rows[-1].answer) for rows in seen]
