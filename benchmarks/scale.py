"""One round of pFPL+ with every client, at three sizes: time and memory, and how they grow with the clients.

50,000 items and 20 interactions per client are made up, for up to a million clients. Each size is made in one
process and trained in another, so that the peak is that of loading and training. An exponent is the slope of a
straight line through the logarithms: 1 is linear. Memory counts above that of a process which has compiled
everything and done nothing.
"""

import math
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sides import Benchmark, Work
from murmura.algorithms import algorithm
from murmura.core.interactions import Interactions, Vocabulary
from murmura.data.sources.synthetic import synth
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess
from murmura.testing import crowd

CLIENTS, ITEMS, ROWS_EACH = (250_000, 500_000, 1_000_000), 50_000, 20
FACTORS, TRIPLES = 20, 20
SECONDS, GIGABYTES, LINEAR = 120.0, 12.0, 1.15  # the goals; an exponent up to the last is about linear


@dataclass(frozen=True)
class Row:
    """One size: what its training took."""

    clients: int
    interactions: int
    seconds: float  # wall
    cpu: float
    peak_gb: float  # of the whole process
    own_gb: float  # above that of a process that has done nothing
    mb_up: float  # what all clients sent


def make(clients: int, items: int, file: Path) -> None:
    """Make the data up and keep it."""
    data = synth(clients, items, ROWS_EACH * clients).interactions
    np.savez(file, user=data.user, item=data.item)


def train(data: Interactions) -> tuple[float, float, Any]:
    """One round with everyone: wall seconds, CPU seconds, and what was trained."""
    settings = {"factors": FACTORS, "triples": TRIPLES, "rounds": 1}
    preset = algorithm("pfpl+")(**settings)
    wall, cpu = time.perf_counter(), time.process_time()
    fitted = fit(
        Plan(preset.algorithm(), data, preset.schedule(), consent=preset.consent()),
        runtime=InProcess(path="kernel"),
    )
    return time.perf_counter() - wall, time.process_time() - cpu, fitted


def measure(clients: int, items: int, file: Path) -> Row:
    """Load one size and train on it; meant for a process of its own."""
    train(crowd())  # compiled before anything is timed
    idle = peak_gb()
    with np.load(file) as kept:
        user, item = kept["user"], kept["item"]
    people, things = (Vocabulary(np.arange(n, dtype=np.int64)) for n in (clients, items))
    data = Interactions(people, things, user, item, np.ones(len(user)))
    seconds, cpu, fitted = train(data)
    totals = fitted.ledger.totals
    assert totals["visits"] == clients, "every client took part"
    assert totals["rows_up"] > TRIPLES * clients, "every client sent its negatives and some positives"
    assert np.isfinite(fitted.model["Q"]).all()
    peak = peak_gb()
    return Row(clients, len(data), seconds, cpu, peak, peak - idle, totals["bytes_up"] / 1e6)


def exponent(rows: Sequence[Any], of: Callable[[Any], float]) -> float:
    """The slope of log(value) over log(clients)."""
    slope, _ = np.polyfit([math.log(r.clients) for r in rows], [math.log(of(r)) for r in rows], 1)
    return float(slope)


def run(sizes: tuple[int, ...] = CLIENTS, items: int = ITEMS) -> list[Row]:
    """Every size, one after the other."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for clients in sizes:
            file = Path(folder) / f"{clients}.npz"
            alone(make, clients, items, file)
            rows.append(alone(measure, clients, items, file))
            file.unlink()
    return rows


def alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """In a new process, whose memory goes with it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def ours() -> Work:
    return cache(run)  # once is enough: every size states its own time


def judge(rows: list[Row], _: None) -> tuple[str, str]:
    peak = max(row.peak_gb for row in rows)
    assert peak <= GIGABYTES, f"{peak:.1f} GB are more than {GIGABYTES:g}"
    slopes = {"CPU time": exponent(rows, lambda r: r.cpu), "memory": exponent(rows, lambda r: r.own_gb)}
    for what, slope in slopes.items():
        assert slope <= LINEAR, f"{what} grows as clients ** {slope:.2f}, faster than they do"
    sizes = [
        f"{r.clients:,} clients, {r.interactions:,} rows: CPU {r.cpu:.1f} s, wall {r.seconds:.1f} s, "
        f"peak {r.peak_gb:.2f} GB, sent {r.mb_up:,.0f} MB"
        for r in rows
    ]
    return "; ".join([*sizes, *(f"exponent of {what} {slope:.2f}" for what, slope in slopes.items())]), ""


BENCHMARK = Benchmark(
    title=f"a round with all of {CLIENTS[-1]:,} clients, {ITEMS:,} items, F = {FACTORS}, T = {TRIPLES}",
    ours=ours,
    goal=SECONDS,
    judge=judge,
    timed=lambda rows: float(rows[-1].cpu),
)
