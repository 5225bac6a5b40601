"""Predicted ratings against their formulas in plain numpy, and on ratings whose answer is known."""

import numpy as np
import pytest
from numpy.typing import NDArray

from murmura.baselines import baseline
from murmura.core.errors import SettingError
from murmura.kernels.similarity import CODES, Measure
from murmura.lab.rivals.rating_factors import BiasedMf
from murmura.lab.rivals.rating_models import ITEM_PRIOR, USER_PRIOR, Biases, RatingModel
from murmura.lab.rivals.rating_neighbours import ItemKnnRatings, UserKnnRatings
from murmura.testing.data import rated_checkerboard
from tests.baselines.kit import RATERS, quick, scattered
from tests.baselines.test_neighbours import table
from tests.kernels.test_similarity import plain_similar

Matrix = NDArray[np.float64]
USERS = np.arange(40, dtype=np.int32)


def plain_biases(X: Matrix) -> Matrix:
    known = X > 0
    mu = X[known].mean()
    b_i = np.where(known, X - mu, 0).sum(axis=0) / (known.sum(axis=0) + ITEM_PRIOR)
    left = np.where(known, X - mu - b_i, 0).sum(axis=1)
    return np.asarray(mu + b_i + (left / (known.sum(axis=1) + USER_PRIOR))[:, None])


def plain_ratings(X: Matrix, S: Matrix, centre: str) -> Matrix:
    """Equation 2.2 pair by pair; S holds the weights of neighbours."""
    base = plain_biases(X)
    told = X - base if centre == "biases" else X
    out = base.copy()
    for u in range(len(X)):
        for i in range(X.shape[1]):
            near = [v for v in range(len(X)) if S[u, v] > 0 and X[v, i] > 0]
            if near:
                mean = sum(S[u, v] * told[v, i] for v in near) / sum(abs(S[u, v]) for v in near)
                out[u, i] = mean + (base[u, i] if centre == "biases" else 0)
    return out


def plain_item_ratings(X: Matrix, S: Matrix, centre: str) -> Matrix:
    """Equation 2.3 pair by pair."""
    base = plain_biases(X)
    told = X - base if centre == "biases" else X
    out = base.copy()
    for u in range(len(X)):
        for i in range(X.shape[1]):
            near = [j for j in range(X.shape[1]) if S[i, j] > 0 and X[u, j] > 0]
            if near:
                mean = sum(S[i, j] * told[u, j] for j in near) / sum(abs(S[i, j]) for j in near)
                out[u, i] = mean + (base[u, i] if centre == "biases" else 0)
    return out


@pytest.mark.parametrize("similarity", list(CODES))
@pytest.mark.parametrize("centre", ["none", "biases"])
def test_neighbours_predict_by_equations_2_2_and_2_3(similarity: Measure, centre: str) -> None:
    X, train = table("raw"), scattered()
    by_users = UserKnnRatings(k=40, similarity=similarity, shrink=3.0, centre=centre).fit(train)  # type: ignore[arg-type]
    S = plain_similar(X, 40, similarity, True, 3.0)
    near = 40 * 5 * 2.0**-23  # sums of at most 40 votes of 5 stars in float32
    np.testing.assert_allclose(by_users.score(USERS), plain_ratings(X, S, centre), rtol=0, atol=near)
    by_items = ItemKnnRatings(k=25, similarity=similarity, shrink=3.0, centre=centre).fit(train)  # type: ignore[arg-type]
    S = plain_similar(X.T.copy(), 25, similarity, True, 3.0)
    np.testing.assert_allclose(by_items.score(USERS), plain_item_ratings(X, S, centre), rtol=0, atol=near)


@pytest.mark.parametrize("name", RATERS)
def test_a_predicted_pair_is_the_score_of_the_item(name: str) -> None:
    model, rng = quick(name).fit(scattered(), seed=4), np.random.default_rng(0)
    users, items = rng.integers(0, 40, 90).astype(np.int32), rng.integers(0, 25, 90).astype(np.int32)
    np.testing.assert_allclose(model.predict(users, items), model.score(USERS)[users, items], rtol=1e-12)


# who likes which colour is all there is to know: 5 or 1 stars, and what is withheld is one of each
KNOWN = {
    "user-knn-ratings": {"k": 11, "shrink": 0.0},
    "item-knn-ratings": {"k": 7, "shrink": 0.0},
    "biased-mf": {"factors": 2, "epochs": 200, "alpha": 0.02, "reg": 0.01},
    "svd++": {"factors": 2, "epochs": 200, "alpha": 0.02, "reg": 0.01},
}


@pytest.mark.parametrize("name", KNOWN)
def test_withheld_ratings_of_the_checkerboard_are_predicted(name: str) -> None:
    train, liked = rated_checkerboard()
    model = baseline(name)(**KNOWN[name]).fit(train, seed=2)
    assert isinstance(model, RatingModel)
    everyone = np.arange(len(liked), dtype=np.int32)
    assert np.abs(model.predict(everyone, liked) - 5).max() < 0.5
    assert np.abs(model.predict(everyone, liked ^ 1) - 1).max() < 0.5
    rows = train.by_user
    own = slice(rows.start[3], rows.start[4])
    stranger = model.predict_history(rows.index[own], rows.value[own])
    assert abs(stranger[liked[3]] - 5) < 1
    assert abs(stranger[liked[3] ^ 1] - 1) < 1


def test_biases_of_nobody_and_nothing_are_zero() -> None:
    found = Biases.of(scattered())
    assert found.users[7] == found.items[24] == 0
    assert found.newcomer(np.zeros(0, np.int32), np.zeros(0)) == 0


def test_steps_that_overflow_are_refused() -> None:
    with pytest.raises(SettingError, match=r"biased-mf.alpha must be small enough"):
        BiasedMf(alpha=5.0).fit(scattered())
