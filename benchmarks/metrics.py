"""P, R, nDCG, IC and G at 10 of all users, beside ranx (which has the first three; it is asked for those)."""

from typing import Any

import numpy as np

from benchmarks import world
from benchmarks.sides import Benchmark, Work
from murmura.baselines.unpersonalised import MostPop
from murmura.core.model import RankedLists

K = 10
Values = dict[str, float]


def lists() -> RankedLists:
    split = world.split()
    return MostPop().fit(split.train).recommend(np.arange(split.data.n_users, dtype=np.int32), K)


def ours() -> Work:
    from murmura.evaluation.measure import evaluate

    ranked, split = lists(), world.split()
    _ = split.test  # cut before the clock starts, as ranx is given its judgements ready-made

    def work() -> Values:
        return dict(evaluate(ranked, split, cutoffs=(K,), metrics=("P", "R", "nDCG", "IC", "G")).values)

    return work


def theirs() -> Work:
    from ranx import Qrels, Run
    from ranx import evaluate as ranx_evaluate

    ranked, test = lists(), world.split().test
    relevant: dict[str, dict[str, int]] = {}
    for user, item in zip(test.user.tolist(), test.item.tolist()):
        relevant.setdefault(str(user), {})[str(item)] = 1
    places = [float(K - place) for place in range(K)]
    run = {
        str(u): dict(zip(map(str, row), places)) for u, row in zip(ranked.user.tolist(), ranked.item.tolist())
    }
    qrels, ready = Qrels(relevant), Run({user: run[user] for user in relevant})
    names = {f"precision@{K}": f"P@{K}", f"recall@{K}": f"R@{K}", f"ndcg@{K}": f"nDCG@{K}"}

    def work() -> Values:
        answer: dict[str, Any] = ranx_evaluate(qrels, ready, list(names))
        return {names[key]: float(value) for key, value in answer.items()}

    return work


def judge(mine: Values, other: Values) -> tuple[str, str]:
    assert len(mine) == 5
    for key, value in other.items():
        assert abs(mine[key] - value) < 1e-9, f"{key} is {mine[key]} here and {value} there"
    text = ", ".join(f"{key} {value:.5g}" for key, value in mine.items())
    return text, "the first three equal to 1e-9"


BENCHMARK = Benchmark(
    title="P, R, nDCG, IC, G at 10 of all users",
    ours=ours,
    theirs=theirs,
    rival="ranx (P, R, nDCG alone)",
    goal=10.0,
    judge=judge,
)
