"""Collaborative NMF with biases on ml-100k: passes per CPU second beside scikit-surprise, and linear cost."""

import os
from functools import cache
from typing import Any

import numpy as np

from benchmarks.sides import Benchmark, Work
from benchmarks.world import with_stars
from murmura.core.arrays import Floats
from murmura.core.interactions import Interactions
from murmura.core.rng import Purpose, Rng, server_secret
from murmura.kernels.factorisation.cnmf_steps import (
    CnmfSettings,
    Factors,
    factorise,
    predict,
    random_factors,
    words_needed,
)
from murmura.kernels.sparse import Sparse

METHOD = CnmfSettings(factors=15, epochs=50)  # Surprise's own defaults
PART = 4  # the smaller side of the linear check has one rating in four
Answer = tuple[int, int, float]  # passes, ratings, mean squared error


@cache
def ratings() -> Interactions:
    """ml-100k, or made-up ratings of its size."""
    from murmura.data.sources.registry import load
    from murmura.data.sources.synthetic import synth

    if os.environ.get("MURMURA_DATA"):
        return load("ml-100k").interactions
    return with_stars(synth(users=943, items=1682, interactions=100_000).interactions)


def ours(part: int = 1) -> Work:
    """All ratings, or every so many'th."""
    data = ratings()
    data = data.rows(np.arange(len(data)) % part == 0)
    matrix, mu = Sparse.of_rows(data.by_user), float(data.value.mean())
    n, m, k = data.n_users, data.n_items, METHOD.factors
    words = Rng(server_secret(0)).stream(Purpose.INIT).words(words_needed(n, m, k))
    start = random_factors(words, n, m, k)

    def work() -> Answer:
        found, _ = factorise(matrix, start, mu, METHOD.rates, METHOD.epochs)
        return METHOD.epochs, len(data), mean_squared_error(data, found, mu)

    return work


def theirs() -> Work:
    """Surprise, its factors started as small as ours: with its own start the first passes are far off."""
    import pandas
    from surprise import NMF, Dataset, Reader

    data = ratings()
    frame = pandas.DataFrame({"user": data.user, "item": data.item, "rating": data.value})
    trainset = Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset()
    users = [trainset.to_inner_uid(user) for user in range(data.n_users)]
    items = [trainset.to_inner_iid(item) for item in range(data.n_items)]
    settings: dict[str, Any] = {
        "biased": True,
        "n_factors": METHOD.factors,
        "n_epochs": METHOD.epochs,
        "reg_pu": METHOD.alpha,
        "reg_qi": METHOD.beta,
        "reg_bu": METHOD.gamma,
        "reg_bi": METHOD.delta,
        "lr_bu": METHOD.eta_w,
        "lr_bi": METHOD.eta_h,
        "init_high": 1 / np.sqrt(METHOD.factors),
        "random_state": 1,
    }

    def work() -> Answer:
        model = NMF(**settings).fit(trainset)
        found = Factors(model.pu[users], model.qi[items], model.bu[users], model.bi[items])
        return METHOD.epochs, len(data), mean_squared_error(data, found, trainset.global_mean)

    return work


def mean_squared_error(data: Interactions, factors: Factors, mu: float) -> float:
    """Over the ratings both sides learned from."""
    error: Floats = data.value - predict(factors, mu, data.user, data.item)
    return float(error @ error / len(data))


def equal_loss(mine: Answer, other: Answer) -> tuple[str, str]:
    assert mine[:2] == other[:2], "both sides make as many passes over the same ratings"
    assert mine[2] < 1.01 * other[2], f"speed is not bought with loss: {mine[2]} and {other[2]}"
    return f"training MSE {mine[2]:.4f}", f"training MSE {other[2]:.4f}"


def fewer_ratings(mine: Answer, other: Answer) -> tuple[str, str]:
    assert PART * other[1] <= mine[1] + PART * PART, "the smaller side has a part of the ratings"
    return f"{mine[1]:,} ratings", f"{other[1]:,} ratings"


def fewer() -> Work:
    """The smaller side."""
    return ours(PART)


BENCHMARKS = {
    "surprise": Benchmark(
        title=f"CNMF with biases, ml-100k, k = {METHOD.factors}, {METHOD.epochs} passes",
        ours=ours,
        theirs=theirs,
        rival="scikit-surprise 1.1.5, NMF",
        goal=10.0,
        judge=equal_loss,
        unit="ratings",
        work=lambda answer: float(answer[0] * answer[1]),
    ),
    "linear": Benchmark(
        title=f"the same: ratings per second, all beside one in {PART} (1: linear cost)",
        ours=ours,
        theirs=fewer,
        rival="a part of the ratings",
        goal=0.8,
        judge=fewer_ratings,
        unit="ratings",
        work=lambda answer: float(answer[0] * answer[1]),
    ),
}
