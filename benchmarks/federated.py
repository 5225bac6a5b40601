"""Federated training on one thread: triples per CPU second beside implicit's BPR, workers, and a plain loop.

What two workers gain shows in wall time, on a machine with two idle cores only. So the row says beside it how
long the longest thread was at work, and what two threads that share nothing gain on this machine now.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import bpr, world
from benchmarks.clocked import Clocked
from benchmarks.sides import Benchmark, Side, Work
from murmura.algorithms import algorithm
from murmura.core.interactions import Interactions
from murmura.core.rng import client_secrets
from murmura.engine.federated_model import FederatedModel
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.kernels.philox import initial_rows
from murmura.runtimes.inprocess import InProcess

TRIPLES = bpr.EPOCHS * len(world.train())  # what implicit draws
SAMPLE, SAMPLE_ROUNDS = 120, 4  # people and rounds of the plain loop


@dataclass(frozen=True)
class Learned:
    """What a side learned, from how many triples; how many Python calls an epoch took, and some times."""

    P: NDArray[Any]  # (users, factors + 1)
    Q: NDArray[Any]  # (items, factors + 1)
    triples: int
    calls: int = 0
    wall: float = 0.0  # seconds: the best round, times the rounds
    longest: float = 0.0  # CPU seconds of the longest thread
    gain: float = 0.0  # of two threads that share nothing


def train_on(
    data: Interactions, name: str, runtime: InProcess | Clocked, rounds: int, **settings: Any
) -> FederatedModel:
    """So many rounds of a named configuration."""
    preset = algorithm(name)(**{"factors": bpr.FACTORS, "rounds": rounds, **settings})
    return fit(Plan(preset.algorithm(), data, preset.schedule(), consent=preset.consent()), runtime=runtime)


def learned(fitted: FederatedModel, triples: int, calls: int = 0) -> Learned:
    P, Q = fitted.states["p"], fitted.model["Q"]
    b = fitted.model.get("b", np.zeros(len(Q), Q.dtype))
    return Learned(np.column_stack([P, np.ones(len(P), P.dtype)]), np.column_stack([Q, b]), triples, calls)


def visit_triples(name: str, data: Interactions) -> int:
    """T of a configuration: one, or X+ / |U| of the + ones."""
    return len(data) // data.n_users if name.endswith("+") else 1


def ours(name: str) -> Side:
    """As many triples as implicit draws, to within one round."""

    def side() -> Work:
        data, runtime = world.train(), InProcess(path="kernel")
        T = visit_triples(name, data)
        a_round = T * (data.n_users if name.startswith("p") else 1)
        rounds = round(TRIPLES / a_round)
        train_on(data, name, runtime, 1)  # compiled before calls are counted
        calls = python_calls(lambda: train_on(data, name, runtime, len(data) if name == "sfpl" else 1))

        def work() -> Learned:
            fitted = train_on(data, name, runtime, rounds)
            assert fitted.ledger.totals["visits"] * T == rounds * a_round
            return learned(fitted, rounds * a_round, calls)

        return work

    return side


def python_calls(work: Work) -> int:
    """How many Python functions are entered while `work` runs."""
    calls = 0

    def count(_frame: Any, event: str, _value: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def theirs() -> Work:
    work = bpr.theirs()
    return lambda: Learned(*work())


def judge(mine: Learned, other: Learned) -> tuple[str, str]:
    assert abs(mine.triples / other.triples - 1) < 0.01, "both sides learn from as many triples"
    assert mine.Q.shape == other.Q.shape, "both sides learn as many factors and a bias"
    return f"P@10 {bpr.precision(mine.P, mine.Q):.4f}", f"P@10 {bpr.precision(other.P, other.Q):.4f}"


def judge_kept(kept: float, judged: Any, mine: Learned, other: Learned) -> tuple[str, str]:
    bpr.as_kept(bpr.precision(mine.P, mine.Q), kept)
    text: tuple[str, str] = judged(mine, other)
    return text


def judge_single(mine: Learned, other: Learned) -> tuple[str, str]:
    rounds = len(world.train())
    assert mine.calls < rounds / 100, f"{mine.calls:,} Python calls are steps per round"
    text, rival = judge(mine, other)
    return f"{text}; {mine.calls:,} Python calls in the {rounds:,} rounds of an epoch", rival


def side_by_side(workers: int, rounds: int = 10) -> Side:
    """pFPL+ with so many workers, round by round."""

    def side() -> Work:
        data, T = world.train(), visit_triples("pfpl+", world.train())

        def work() -> Learned:
            runtime = Clocked(InProcess(path="kernel", workers=workers))
            cpu, mine = time.process_time(), time.thread_time()
            fitted = train_on(data, "pfpl+", runtime, rounds)
            cpu, mine = time.process_time() - cpu, time.thread_time() - mine
            found = learned(fitted, rounds * data.n_users * T)
            longest = mine + (cpu - mine) / workers  # the threads beside this one have equal parts
            return replace(found, wall=min(runtime.seconds) * rounds, longest=longest, gain=machine_gain())

        return work

    return side


def machine_gain() -> float:
    """How many times as fast two threads do the same as one, when they share nothing."""
    keys, rooms = client_secrets(0, 20_000), np.empty((2, 20_000, 20))
    seconds = [0.0, 0.0]
    for workers in (1, 2):
        with ThreadPoolExecutor(workers) as pool:
            start = time.perf_counter()
            list(pool.map(lambda room: initial_rows(keys, 0.1, room), rooms))
            seconds[workers - 1] = time.perf_counter() - start
    return seconds[0] / seconds[1]


def judge_workers(mine: Learned, other: Learned) -> tuple[str, str]:
    assert mine.Q.tobytes() == other.Q.tobytes(), "workers change no bit"
    assert mine.P.tobytes() == other.P.tobytes()
    ratio = other.longest / mine.longest
    return f"same bits; by CPU time of the longest thread {ratio:.1f}; any two threads {mine.gain:.1f} now", ""


def sample(path: Any) -> Side:
    """pFPL+ on a few people, by the compiled path or by the loop over clients in Python."""

    def side() -> Work:
        data = world.train()
        data = data.rows(data.user < SAMPLE).compact()
        triples = SAMPLE_ROUNDS * data.n_users * visit_triples("pfpl+", data)

        def work() -> Learned:
            runtime = InProcess(path=path)
            return learned(train_on(data, "pfpl+", runtime, SAMPLE_ROUNDS, precision="float64"), triples)

        return work

    return side


def judge_sample(mine: Learned, other: Learned) -> tuple[str, str]:
    assert mine.triples == other.triples
    gap = float(np.abs(mine.Q - other.Q).max() / np.abs(other.Q).max())
    assert gap < 1e-9, f"both paths learn the same: they differ by {gap:.1e}"
    return f"equal to {gap:.0e} in float64", ""


def epoch(name: str) -> Side:
    """One epoch: every client solves its vector and sends gradients, the server steps."""

    def side() -> Work:
        data = world.train()
        return lambda: learned(train_on(data, name, InProcess(path="kernel"), 1), len(data))

    return side


def judge_epoch(mine: Learned, _: None) -> tuple[str, str]:
    assert np.isfinite(mine.Q).all()
    return f"{mine.triples:,} own items of {len(mine.P):,} clients", ""


def beside_implicit(name: str, title: str, goal: float, judged: Any = judge) -> Benchmark:
    return Benchmark(
        title=f"{title}, F = {bpr.FACTORS}, one worker",
        ours=ours(name),
        theirs=theirs,
        rival="implicit 0.7.3, BPR",
        goal=goal,
        judge=judged,
        unit="triples",
        work=lambda answer: float(answer.triples),
    )


BENCHMARKS = {
    "sfpl": beside_implicit("sfpl", "sFPL", 1.7, partial(judge_kept, 0.1166, judge_single)),
    "sfpl+": beside_implicit("sfpl+", "sFPL+", 2.7, partial(judge_kept, 0.1161, judge)),
    "pfpl+": beside_implicit("pfpl+", "pFPL+", 3.0, partial(judge_kept, 0.0965, judge)),
    "workers": Benchmark(
        title="pFPL+ on two workers, wall time of the best round",
        ours=side_by_side(2),
        theirs=side_by_side(1),
        rival="one worker",
        goal=1.6,
        judge=judge_workers,
        unit="triples",
        work=lambda answer: float(answer.triples),
        timed=lambda answer: float(answer.wall),
    ),
    "loop": Benchmark(
        title=f"pFPL+ of {SAMPLE} people, {SAMPLE_ROUNDS} rounds",
        ours=sample("kernel"),
        theirs=sample("plain"),
        rival="a loop over clients in Python",
        goal=50.0,
        judge=judge_sample,
        unit="triples",
        work=lambda answer: float(answer.triples),
    ),
    "fcf": Benchmark(title="FCF, an epoch", ours=epoch("fcf"), goal=1.0, judge=judge_epoch),
    "fcf-paper": Benchmark(
        title="FCF as published, an epoch", ours=epoch("fcf-paper"), goal=1.0, judge=judge_epoch
    ),
}
