"""BPR-MF, 20 factors: training triples per CPU second, in user-grouped order, beside implicit's BPR."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import world
from benchmarks.sides import Benchmark, Work
from murmura.kernels.ranking import rank

FACTORS, EPOCHS, ALPHA = 20, 10, 0.05
Factors = tuple[NDArray[np.float32], NDArray[np.float32], int]  # users, items, triples drawn


def ours() -> Work:
    from murmura.baselines.bpr_mf import BprMf

    train, method = world.train(), BprMf(factors=FACTORS, epochs=EPOCHS, alpha=ALPHA, order="user-grouped")

    def work() -> Factors:
        model = method.fit(train)
        P = np.hstack([model.P, np.ones((len(model.P), 1), np.float32)])
        return P, np.hstack([model.Q, model.b[:, None]]), EPOCHS * len(train)

    return work


def theirs() -> Work:
    from implicit.cpu.bpr import BayesianPersonalizedRanking
    from scipy.sparse import csr_matrix

    train = world.train()
    ones = np.ones(len(train), np.float32)
    matrix = csr_matrix((ones, (train.user, train.item)), shape=(train.n_users, train.n_items))

    def work() -> Factors:
        model = BayesianPersonalizedRanking(
            factors=FACTORS,
            iterations=EPOCHS,
            learning_rate=ALPHA,
            regularization=ALPHA / 20,
            num_threads=1,
            random_state=1,
        )
        model.fit(matrix, show_progress=False)
        return model.user_factors, model.item_factors, EPOCHS * matrix.nnz

    return work


def precision(P: NDArray[Any], Q: NDArray[Any]) -> float:
    """P@10 on the test part, full ranking."""
    split, train = world.split(), world.train()
    users = np.arange(train.n_users, dtype=np.int32)
    lists = rank(lambda u: P[u] @ Q.T, users, 10, train.by_user, np.ones(train.n_items, np.bool_))
    test = np.unique(split.test.user.astype(np.int64) * len(split.data.items) + split.test.item)
    codes = split.data.items.find(train.items.labels)
    listed = users[:, None].astype(np.int64) * len(split.data.items) + codes[lists.item]
    return float(np.isin(listed, test).mean())


def as_kept(found: float, kept: float) -> None:
    """P@10 on ml-1m is that of the row in docs/results/bench.md; made-up data has none."""
    if world.name() == "ml-1m":
        assert abs(found - kept) < 0.001, f"P@10 is {found:.4f}, {kept:.4f} was kept"


def judge(mine: Factors, other: Factors) -> tuple[str, str]:
    assert mine[2] == other[2], "both sides draw one triple per training row and epoch"
    assert mine[0].shape == other[0].shape, "both sides learn as many factors and a bias"
    assert mine[1].shape == other[1].shape
    qualities = [precision(P, Q) for P, Q, _ in (mine, other)]
    assert qualities[0] > 0.9 * qualities[1], f"speed is not bought with quality: {qualities}"
    as_kept(qualities[0], 0.1179)
    return f"P@10 {qualities[0]:.4f}", f"P@10 {qualities[1]:.4f} (draws negatives by popularity)"


BENCHMARK = Benchmark(
    title=f"BPR-MF, F = {FACTORS}, user-grouped order, {EPOCHS} epochs",
    ours=ours,
    theirs=theirs,
    rival="implicit 0.7.3",
    goal=3.5,
    judge=judge,
    unit="triples",
    work=lambda answer: float(answer[2]),
)
