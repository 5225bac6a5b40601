"""EASE: both sides give the model of the paper, and a table that does not fit is refused."""

import numpy as np
import pytest
from numpy.typing import NDArray

from murmura.baselines.ease import Ease, EaseModel
from murmura.core.errors import SettingError
from murmura.core.interactions import Interactions
from murmura.kernels.item_weights import inverse


def table(seed: int, users: int, items: int) -> NDArray[np.float64]:
    X = (np.random.default_rng(seed).random((users, items)) < 0.3).astype(float)
    X[0] = X[:, 0] = 1  # everyone and everything occurs
    return X


def interactions(X: NDArray[np.float64]) -> Interactions:
    user, item = np.nonzero(X)
    return Interactions.of(user, item, X[user, item])


def paper(X: NDArray[np.float64], reg: float) -> NDArray[np.float64]:
    """Equation 8 of the paper, literally."""
    P = np.linalg.inv(X.T @ X + reg * np.eye(X.shape[1]))
    B = P / -np.diag(P)
    np.fill_diagonal(B, 0)
    return B


@pytest.mark.parametrize(("users", "items"), [(40, 12), (12, 40), (150, 200)])
@pytest.mark.parametrize("reg", [0.5, 20.0])
def test_both_sides_equal_the_papers_equation(users: int, items: int, reg: float) -> None:
    X = table(1, users, items)
    model = Ease(reg=reg).fit(interactions(X))
    assert isinstance(model, EaseModel)
    assert (model.diagonal is None) == (users >= items)
    B = paper(X, reg)
    # float32 carries 24 bits; a score sums at most `items` of them, and the ridge bounds the condition number
    near = 2.0**-24 * items * 4 * max(1.0, 1 / reg) * np.abs(X @ B).max()
    everyone = np.arange(users, dtype=np.int32)
    np.testing.assert_allclose(model.score(everyone), X @ B, atol=near)
    newcomer = np.array([1, 5, 7], np.int32)
    np.testing.assert_allclose(model.score_history(newcomer), B[newcomer].sum(axis=0), atol=near)


def test_raw_values_enter_the_table() -> None:
    X = table(2, 20, 8) * np.random.default_rng(3).integers(1, 6, (20, 8))
    model = Ease(reg=3, values="raw").fit(interactions(X))
    np.testing.assert_allclose(model.score(np.arange(20, dtype=np.int32)), X @ paper(X, 3), atol=1e-4)


def test_a_table_that_does_not_fit_is_refused_with_what_it_needs() -> None:
    train = interactions(table(1, 100, 60))
    needed = 12 * 60**2 / 1e9
    Ease(memory_gb=needed).fit(train)
    with pytest.raises(SettingError, match=r"at least 0\.1 for a table of 60 x 60 .* choose another model\."):
        Ease(memory_gb=needed * 0.99).fit(train)


def test_inverse_equals_numpys() -> None:
    G = table(4, 30, 9)
    G = G.T @ G
    np.testing.assert_allclose(inverse(G.copy(), 2.0), np.linalg.inv(G + 2 * np.eye(9)), atol=1e-14)
