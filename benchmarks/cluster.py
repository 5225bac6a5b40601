"""Rounds of pFPL+ with everyone, through a channel in a ring of 64, over clients that are in shards on disk.

    round     1,000,000 clients, three rounds on two local Dask workers beside one process: CPU of all processes
    first     the same, one round: what is done once in a training is in it
    wall      three rounds beside one worker, in seconds of the clock: only on a quiet machine
    driver    peak memory of the process that drives, for 100,000 and for 1,000,000 clients
    sizes     three sizes up to 10,000,000 clients and 100,000 items, one after the other in one process

An idle cluster has work of its own (heartbeats), which is measured and taken off. Every side's bytes are equal.
"""

import hashlib
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import alone, exponent, peak_gb
from benchmarks.sides import Benchmark, Skipped, Work
from murmura.algorithms import algorithm
from murmura.data.populations import RANGE, PopulationFiles, PopulationWriter, Rows
from murmura.runtimes.ranges import RangePlan
from murmura.runtimes.sharded_training import SHARD, ShardedTraining, TaskEngine
from murmura.runtimes.shards import population_info

CLIENTS, ITEMS, ROWS_EACH = 1_000_000, 50_000, 20
FEWER = 100_000
SIZES, MORE_ITEMS = (625_000, 2_500_000, 10_000_000), 100_000
ROUNDS = 3
SETTINGS = {"factors": 20, "triples": 20, "channel": "secure-sum", "ring": 64}
OVERHEAD, FASTER, DRIVER_MB, GIGABYTES, LINEAR = 1.15, 0.65, 20.0, 12.0, 1.05  # the goals
IDLE = 5.0  # seconds in which an idle cluster is watched


@dataclass(frozen=True)
class Rounds:
    """What some rounds took; `digest` is of the model and the ledger's lines."""

    clients: int
    cpu: float  # of all processes, less what an idle cluster does in the same time
    seconds: float  # wall
    peak_gb: float  # of this process
    digest: str


def make(folder: Path, clients: int, items: int) -> PopulationFiles:
    """Clients with 20 items each, the low numbers more popular, range by range."""
    writer = PopulationWriter(folder, items)
    for first in range(0, clients, RANGE):
        n, rng = min(RANGE, clients - first), np.random.default_rng(first)
        place = (np.arange(ROWS_EACH) + rng.random((n, ROWS_EACH))) / ROWS_EACH  # ascending, each once
        item = np.floor(items * place**2).astype(np.int32).ravel()
        writer.add(Rows(np.arange(n + 1, dtype=np.int64) * ROWS_EACH, item))
    return writer.close("made up for a benchmark")


def train(
    tasks: TaskEngine, population: PopulationFiles, work: Path, rounds: int = 1, shard: int = SHARD
) -> str:
    """Rounds with everyone: a hash of what they led to."""
    preset = algorithm("pfpl+")(**SETTINGS, rounds=rounds)
    method = preset.algorithm()
    plan = RangePlan(
        method, population_info(method, population), preset.schedule(), channel=preset.channel_settings()
    )
    shutil.rmtree(work, ignore_errors=True)
    training = ShardedTraining(tasks, plan, population, work, shard)
    training.run(rounds)
    f, lines = training.federation, training.lines
    assert [line.visits for line in lines] == rounds * [population.clients], "every client took part"
    assert np.isfinite(f.server.model["Q"]).all()
    told = hashlib.sha256(repr(lines).encode())
    told.update(f.server.model["Q"].tobytes() + f.tally.item_rows.tobytes())
    shutil.rmtree(work, ignore_errors=True)
    return told.hexdigest()


def measure(where: str, clients: int, items: int, root: Path, rounds: int = 1) -> Rounds:
    """Train on the population in `root`; meant for a process of its own."""
    with engine(where) as tasks:
        small = root / "small"
        if not small.exists():
            make(small, 4 * 64, items)
        train(tasks, PopulationFiles.open(small), root / "warm", shard=64)  # compiled by every worker
        before, begun = _cpu(), time.perf_counter()
        if where:
            time.sleep(IDLE)
        idle = (_cpu() - before) / IDLE if where else 0.0
        before, begun = _cpu(), time.perf_counter()
        digest = train(tasks, PopulationFiles.open(root / str(clients)), root / f"work-{clients}", rounds)
        cpu, seconds = _cpu() - before, time.perf_counter() - begun
    return Rounds(clients, cpu - idle * seconds, seconds, peak_gb(), digest)


@contextmanager
def engine(where: str) -> Iterator[TaskEngine]:
    """This process, or so many workers of this machine."""
    if not where:
        yield TaskEngine()
        return
    from murmura.runtimes.dask import DaskTasks, dask_client

    with dask_client(where) as client:
        yield DaskTasks(client)


def run(wheres: tuple[str, ...], sizes: tuple[int, ...], items: int, rounds: int = 1) -> list[Rounds]:
    """Every size everywhere, each in a process of its own."""
    if any(wheres):
        try:
            import murmura.runtimes.dask  # noqa: F401
        except Exception as why:
            raise Skipped(str(why)) from None
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for clients in sizes:
            alone(make, Path(folder) / str(clients), clients, items)
            found += [alone(measure, where, clients, items, Path(folder), rounds) for where in wheres]
            shutil.rmtree(Path(folder) / str(clients))
    return found


def _cpu() -> float:
    """CPU seconds of this process and of those it has started."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    try:
        import psutil
    except ImportError:
        return own.ru_utime + own.ru_stime
    parts = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return own.ru_utime + own.ru_stime + float(sum(part.user + part.system for part in parts))


def _one(where: str, rounds: int = ROUNDS) -> Work:
    return _after_the_first(partial(run, (where,), (CLIENTS,), ITEMS, rounds))


def _after_the_first(work: Work) -> Work:
    """The first call is nobody's: every measurement compiles before it begins."""
    calls = count()
    return lambda: work() if next(calls) else None


def judge_pair(ours: list[Rounds], theirs: list[Rounds]) -> tuple[str, str]:
    [mine], [other] = ours, theirs
    assert mine.digest == other.digest, "both did the same work"
    return tuple(  # type: ignore[return-value]
        f"CPU {one.cpu:.1f} s, wall {one.seconds:.1f} s, peak {one.peak_gb:.2f} GB" for one in (mine, other)
    )


def judge_driver(rounds: list[Rounds], _: None) -> tuple[str, str]:
    few, many = (one.peak_gb * 1024 for one in rounds)
    assert abs(many - few) <= DRIVER_MB, f"{many - few:.0f} MB more for {CLIENTS:,} clients than for {FEWER:,}"
    return f"{FEWER:,} clients: driver {few:.0f} MB; {CLIENTS:,} clients: {many:.0f} MB", ""


def judge_sizes(rounds: list[Rounds], _: None) -> tuple[str, str]:
    peak, slope = max(one.peak_gb for one in rounds), exponent(rounds, lambda one: one.cpu)
    assert peak <= GIGABYTES, f"{peak:.1f} GB are more than {GIGABYTES:g}"
    assert slope <= LINEAR, f"CPU time grows as clients ** {slope:.2f}"
    told = [
        f"{r.clients:,} clients: CPU {r.cpu:.1f} s, wall {r.seconds:.1f}, {r.peak_gb:.2f} GB" for r in rounds
    ]
    return "; ".join([*told, f"exponent of CPU time {slope:.3f}"]), ""


def _cpu_of(answer: Any) -> float:
    return float(answer[-1].cpu)


def _beside_one_process(what: str, rounds: int) -> Benchmark:
    return Benchmark(
        title=f"{what} of {CLIENTS:,} clients in shards, two Dask workers, CPU of all processes",
        ours=lambda: _one("local:2", rounds),
        theirs=lambda: _one("", rounds),
        rival="the same in one process",
        goal=round(1 / OVERHEAD, 2),
        judge=judge_pair,
        timed=_cpu_of,
        rounds=3,
    )


BENCHMARKS = {
    "round": _beside_one_process(f"{ROUNDS} rounds", ROUNDS),
    "first": _beside_one_process("the first round", 1),
    "wall": Benchmark(
        title=f"{ROUNDS} rounds of {CLIENTS:,} clients in shards, two Dask workers, wall s on a quiet machine",
        ours=lambda: _one("local:2"),
        theirs=lambda: _one("local:1"),
        rival="one Dask worker",
        goal=round(1 / FASTER, 2),
        judge=judge_pair,
        timed=lambda answer: float(answer[-1].seconds),
        rounds=3,
    ),
    "driver": Benchmark(
        title=f"memory of the driver of a round of {FEWER:,} and of {CLIENTS:,} clients",
        ours=lambda: _after_the_first(partial(run, ("local:2",), (FEWER, CLIENTS), ITEMS)),
        goal=120.0,
        judge=judge_driver,
        timed=_cpu_of,
        rounds=1,
    ),
    "sizes": Benchmark(
        title=f"a round of {SIZES[-1]:,} clients, {MORE_ITEMS:,} items, in one process",
        ours=lambda: _after_the_first(partial(run, ("",), SIZES, MORE_ITEMS)),
        goal=600.0,
        judge=judge_sizes,
        timed=_cpu_of,
        rounds=1,
    ),
}
