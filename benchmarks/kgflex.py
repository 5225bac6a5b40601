"""KGFlex on one thread: a whole training on facebook-books, and everyone's features of ml-1m.

train   100 rounds of a tenth of the people, their information gains included; CPU seconds
gain    the information gain of every feature of every person, the best 100 + 100 kept; CPU seconds
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.sides import Benchmark, Work
from murmura.algorithms.kgflex.kgflex import KGFlex
from murmura.core.catalogue import Split
from murmura.data.sources.registry import load
from murmura.engine.experiment import score
from murmura.engine.plan import Plan
from murmura.engine.prepared import whole_split
from murmura.engine.protocol import Protocol, protocol
from murmura.runtimes.simulation import simulate


@dataclass(frozen=True)
class Found:
    """How accurate, or how many pairs of a person and a feature, in how many bytes."""

    accuracy: float = 0.0
    pairs: int = 0
    megabytes: float = 0.0


def prepared(name: str) -> tuple[Split, Protocol]:
    dataset = load(name)
    rules = protocol("kgflex", dataset)
    return whole_split(dataset, rules), rules


def train() -> Work:
    split, rules = prepared("facebook-books")

    def work() -> Found:
        model = simulate("kgflex", split.train)
        found = score(model, split, rules, 1, (10,)).evaluation.values
        return Found(accuracy=float(found["nDCG@10"]))

    return work


def gain() -> Work:
    split, _ = prepared("ml-1m")

    def work() -> Found:
        algorithm = KGFlex()
        plan = Plan(algorithm, split.train)
        states = algorithm.kernel().init_clients(plan.info, plan.people)
        pairs = int(np.count_nonzero(states["feature"] >= 0))
        return Found(pairs=pairs, megabytes=sum(stack.nbytes for stack in states.values()) / 1e6)

    return work


def judge_training(mine: Found, _: None) -> tuple[str, str]:
    assert mine.accuracy >= 0.08, f"speed is not bought with accuracy: nDCG@10 {mine.accuracy:.4f}"
    return f"nDCG@10 {mine.accuracy:.4f}, the lists included", ""


def judge_gain(mine: Found, _: None) -> tuple[str, str]:
    per_pair = 1e6 * mine.megabytes / max(mine.pairs, 1)
    return f"{mine.pairs:,} pairs of person and feature, {per_pair:.0f} bytes each", ""


BENCHMARKS = {
    "train": Benchmark("KGFlex, 100 epochs, facebook-books", train, 10.0, judge_training),
    "gain": Benchmark("KGFlex, features of everyone, ml-1m", gain, 20.0, judge_gain),
}
