"""User-kNN and Item-kNN against their formulas in plain numpy."""

import numpy as np
import pytest
from numpy.typing import NDArray

from murmura.baselines.neighbours import ItemKnn, UserKnn
from murmura.core.errors import SettingError
from murmura.kernels.similarity import Measure
from tests.baselines.kit import scattered
from tests.kernels.test_similarity import plain_similar
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


@pytest.mark.parametrize("similarity", ["pearson", "jaccard", "euclidean"])
@pytest.mark.parametrize(("values", "shrink", "power"), [("raw", 0.0, 2.0), ("binary", 4.0, 1.0)])
def test_other_similarities(similarity: Measure, values: str, shrink: float, power: float) -> None:
    chosen = {"k": 40, "similarity": similarity, "shrink": shrink, "power": power, "values": values}
    X, own = table(values), np.array([1, 4], np.int32)
    S = plain_similar(X.T.copy(), 40, similarity, False, shrink) ** power
    model = ItemKnn(**chosen).fit(scattered())  # type: ignore[arg-type]
    np.testing.assert_allclose(model.score(USERS), X @ S.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.score_history(own), S[:, own].sum(axis=1), rtol=1e-5, atol=1e-6)
    S = plain_similar(X, 40, similarity, False, shrink) ** power
    voted = UserKnn(**chosen).fit(scattered())  # type: ignore[arg-type]
    np.testing.assert_allclose(voted.score(USERS), S @ X, rtol=1e-5, atol=1e-6)
    newcomer = np.zeros(X.shape[1])
    newcomer[own] = 1
    S = plain_similar(np.vstack([X, newcomer]), 41, similarity, False, shrink) ** power
    np.testing.assert_allclose(voted.score_history(own), S[-1, :-1] @ X, rtol=1e-5, atol=1e-6)


def test_only_the_cosine_is_asymmetric() -> None:
    with pytest.raises(SettingError, match=r"asymmetry must stay 0.5 unless similarity is 'cosine'"):
        ItemKnn(similarity="jaccard", asymmetry=0.3)
