"""The ten best unseen items of every user from 20 factors and a bias, beside implicit's `recommend`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import world
from benchmarks.sides import Benchmark, Work
from murmura.baselines.bpr_mf import BprMf, BprModel

FACTORS, K = 20, 10


def model() -> BprModel:
    return BprMf(factors=FACTORS, epochs=5).fit(world.train())


def ours() -> Work:
    fitted = model()
    users = np.arange(world.train().n_users, dtype=np.int32)

    def work() -> NDArray[Any]:
        return fitted.recommend(users, K).item

    return work


def theirs() -> Work:
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    train, fitted = world.train(), model()
    ones = np.ones(len(train), np.float32)
    matrix = csr_matrix((ones, (train.user, train.item)), shape=(train.n_users, train.n_items))
    rival = AlternatingLeastSquares(
        factors=FACTORS + 1, num_threads=1
    )  # a carrier of factors, its own recommend
    rival.user_factors = np.hstack([fitted.P, np.ones((train.n_users, 1), np.float32)])
    rival.item_factors = np.hstack([fitted.Q, fitted.b[:, None]])
    users = np.arange(train.n_users)

    def work() -> NDArray[Any]:
        found: NDArray[Any] = rival.recommend(users, matrix, N=K, filter_already_liked_items=True)[0]
        return found

    return work


def judge(mine: NDArray[Any], other: NDArray[Any]) -> tuple[str, str]:
    assert mine.shape == other.shape
    same = float((mine == other).mean())
    assert same > 0.999, f"both sides rank the same scores: {same:.5f} of the places agree"
    return f"{same:.2%} of the places equal", ""


BENCHMARK = Benchmark(
    title=f"top-{K} of all users, F = {FACTORS}",
    ours=ours,
    theirs=theirs,
    rival="implicit 0.7.3",
    goal=5.0,
    judge=judge,
    unit="users",
    work=lambda answer: float(len(answer)),
)
