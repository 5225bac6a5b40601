"""User-kNN and Item-kNN against their formulas in plain numpy."""

import numpy as np
import pytest
from numpy.typing import NDArray

from murmura.baselines.neighbours import ItemKnn, UserKnn
from tests.baselines.kit import scattered
from tests.kernels.test_sparse import plain_nearest

Matrix = NDArray[np.float64]
USERS = np.arange(40, dtype=np.int32)
settings = pytest.mark.parametrize(
    ("k", "asymmetry", "shrink", "power", "values"),
    [(5, 0.5, 0.0, 1.0, "raw"), (3, 0.7, 4.0, 2.0, "binary"), (100, 0.3, 1.0, 0.5, "raw")],
)


def table(values: str) -> Matrix:
    train = scattered()
    X = np.zeros((train.n_users, train.n_items))
    X[train.user, train.item] = train.value if values == "raw" else 1
    return X


@settings
def test_item_knn(k: int, asymmetry: float, shrink: float, power: float, values: str) -> None:
    method = ItemKnn(k=k, asymmetry=asymmetry, shrink=shrink, power=power, values=values)  # type: ignore[arg-type]
    model, X = method.fit(scattered()), table(values)
    S = plain_nearest(X.T.copy(), k, asymmetry, shrink) ** power  # row i: the neighbours of target i
    np.testing.assert_allclose(model.score(USERS), X @ S.T, rtol=1e-5, atol=1e-6)  # float32 sums
    own = np.array([1, 4], np.int32)
    np.testing.assert_allclose(model.score_history(own), S[:, own].sum(axis=1), rtol=1e-5, atol=1e-6)


@settings
def test_user_knn(k: int, asymmetry: float, shrink: float, power: float, values: str) -> None:
    method = UserKnn(k=k, asymmetry=asymmetry, shrink=shrink, power=power, values=values)  # type: ignore[arg-type]
    model, X = method.fit(scattered()), table(values)
    S = plain_nearest(X, k, asymmetry, shrink) ** power
    np.testing.assert_allclose(model.score(USERS), S @ X, rtol=1e-5, atol=1e-6)
    own = np.array([1, 4], np.int32)
    newcomer = np.zeros(X.shape[1])
    newcomer[own] = 1
    S = plain_nearest(np.vstack([X, newcomer]), k, asymmetry, shrink) ** power
    np.testing.assert_allclose(model.score_history(own), S[-1, :-1] @ X, rtol=1e-5, atol=1e-6)
