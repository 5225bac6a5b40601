"""The row solves against equation 4 of the paper, written with numpy's own solver."""

import numpy as np
import pytest
from numpy.typing import NDArray

from murmura.kernels.factorisation.als import solve_rows
from tests.kernels.test_sparse import matrix, sparse

Table = NDArray[np.float64]


def plain(R: Table, alpha: float, ridge: Table, Y: Table) -> Table:
    out = np.zeros((len(R), Y.shape[1]))
    for row, r in enumerate(R):
        C, p = np.diag(1 + alpha * r), (r > 0).astype(float)
        if p.any():
            out[row] = np.linalg.solve(Y.T @ C @ Y + ridge[row] * np.eye(Y.shape[1]), Y.T @ C @ p)
    return out


@pytest.mark.parametrize("factors", [1, 3, 8, 40])  # below, at and above the number of entries of a row
@pytest.mark.parametrize("alpha", [0.5, 40.0])
def test_rows_solve_the_normal_equations(factors: int, alpha: float) -> None:
    R = matrix(5, 30, 20)
    R[7] = 0
    rng = np.random.default_rng(6)
    Y, ridge = rng.normal(size=(20, factors)), rng.uniform(0.5, 5, 30)
    found, expected = solve_rows(sparse(R), alpha, ridge, Y), plain(R, alpha, ridge, Y)
    # backward stable solves: the error is the rounding unit times the condition number, here below 1e5
    np.testing.assert_allclose(found, expected, atol=1e-16 * 1e5 * max(1, np.abs(expected).max()))
    assert not found[7].any()


def test_other_vectors_of_the_other_side_may_be_all_zero() -> None:
    assert not solve_rows(sparse(matrix(1, 5, 4)), 1.0, np.ones(5), np.zeros((4, 3))).any()
