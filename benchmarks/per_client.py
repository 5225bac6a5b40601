"""What one client of a simulated round costs, beside Flower's simulation and pfl-research's.

A round is FedAvg's, of a recommender: everybody gets the item vectors, trains on her own rows and sends what
she would change (FCF); the server adds all of it and moves the vectors.

flower    CPU seconds of all processes for each client beside Flower's, on one CPU
pfl       the same beside pfl-research, in one process

Rivals run in environments of their own. Their clients train by Murmura's own plain step and their servers take
its step, so engines are compared and nothing else; ours takes its compiled path, as it would for anyone. The
first round starts what an engine starts and does not count.
"""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import environments
from benchmarks.clocked import Clocked
from benchmarks.fedavg import FLWR, RAY
from benchmarks.rivals.recommender_clients import METHOD
from benchmarks.sides import Benchmark, Side, Work
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, server_secret
from murmura.core.schedule import Schedule
from murmura.data.sources.synthetic import synth
from murmura.engine.fit import fit
from murmura.engine.plan import Plan
from murmura.runtimes.inprocess import InProcess

ITEMS, ROWS = 500, 20  # of everybody
PFL = "0.6.0"
SURROUNDINGS = {  # Ray gives its workers a low priority by default: they would hardly run beside other work
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "PYTHONPATH": str(Path(__file__).parent.parent),
}
TOLERANCE = 1e-3  # of vectors that Adam moves by 0.1 a round: sums in another order differ a little


@dataclass(frozen=True)
class RoundCost:
    """The item vectors after the last round, and the CPU seconds of one client in one round."""

    Q: NDArray[Any]
    seconds: float
    moved: float


def population(clients: int) -> Interactions:
    return synth(users=clients, items=ITEMS, interactions=clients * ROWS).interactions


def ours(clients: int, rounds: int) -> Side:
    def side() -> Work:
        data = population(clients)

        def work() -> RoundCost:
            clock = Clocked(InProcess())
            schedule = Schedule(clients="all", rounds_per_epoch=1, epochs=rounds)
            fitted = fit(Plan(METHOD, data, schedule), runtime=clock)
            return cost(data, fitted.model["Q"], sum(clock.cpu[1:]), rounds)

        return work

    return side


def cost(data: Interactions, Q: NDArray[Any], seconds: float, rounds: int) -> RoundCost:
    first = METHOD.server_init(Plan(METHOD, data).info, Rng(server_secret(0))).model["Q"]
    return RoundCost(Q, seconds / (data.n_users * (rounds - 1)), float(np.abs(Q - first).max()))


def rival(clients: int, rounds: int, python: Callable[[], Path], script: str, *arguments: str) -> Side:
    """Hand the world over in a folder, and read what came of it."""

    def side() -> Work:
        where, data = python(), population(clients)

        def work() -> RoundCost:
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                np.savez(folder / "world.npz", user=data.user, item=data.item)
                (folder / "settings.json").write_text(json.dumps({"rounds": rounds}))
                file = Path(__file__).parent / "rivals" / script
                environments.run([str(where), str(file), made, *arguments], environment=SURROUNDINGS)
                seconds = json.loads((folder / "cost.json").read_text())
                with np.load(folder / "result.npz") as result:
                    return cost(data, result["Q"], seconds, rounds)

        return work

    return side


def judge(mine: RoundCost, other: RoundCost) -> tuple[str, str]:
    gap = float(np.abs(mine.Q - other.Q).max())
    assert gap <= TOLERANCE, f"both sides learn the same item vectors: they differ by {gap:.1e}"
    assert mine.moved > 100 * TOLERANCE, f"item vectors that move by {mine.moved:.1e} have learned nothing"
    equal = f"{mine.Q.size:,} numbers equal to {gap:.0e}, moved by up to {mine.moved:.2g}"
    return f"{1e6 * mine.seconds:,.1f} µs a client; {equal}", f"{1e6 * other.seconds:,.1f} µs a client"


def beside(name: str, clients: int, rounds: int, goal: float, theirs: Side) -> Benchmark:
    return Benchmark(
        title=f"FCF, one client of a round of {clients:,} with {ITEMS} items, CPU of all processes",
        ours=ours(clients, rounds),
        theirs=theirs,
        rival=name,
        goal=goal,
        judge=judge,
        timed=lambda answer: float(answer.seconds),
        rounds=1,
    )


def flower_python() -> Path:
    return environments.interpreter("flower", f"flwr[simulation]=={FLWR}", f"ray=={RAY}")


def pfl_python() -> Path:
    return environments.interpreter("pfl", f"pfl=={PFL}")


BENCHMARKS = {
    "flower": beside(
        f"Flower {FLWR} on Ray {RAY}, one CPU",
        500,
        3,
        200,
        rival(500, 3, flower_python, "flower_round.py", "1"),
    ),
    "pfl": beside(
        f"pfl-research {PFL}, one process", 2_000, 3, 20, rival(2_000, 3, pfl_python, "pfl_round.py")
    ),
}
