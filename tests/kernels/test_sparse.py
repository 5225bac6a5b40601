"""Nearest rows and sums of rows against dense matrices and plain sorting."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from murmura.kernels.similarity import nearest_rows
from murmura.kernels.sparse import (
    Sparse,
    dense_times_sparse,
    gram,
    product_rows,
    sparse_times_dense,
)
from tests.hypothesis_profiles import examples

Matrix = NDArray[np.float64]


def sparse(dense: Matrix) -> Sparse:
    row, column = np.nonzero(dense)
    start = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(dense)))))
    return Sparse.of(start, column, dense[row, column])


def dense(matrix: Sparse, n_columns: int) -> Matrix:
    out = np.zeros((len(matrix.start) - 1, n_columns))
    for row in range(len(out)):
        for place in range(matrix.start[row], matrix.start[row + 1]):
            out[row, matrix.column[place]] = matrix.value[place]
    return out


def plain_nearest(X: Matrix, k: int, asymmetry: float, shrink: float) -> Matrix:
    n = len(X)
    out = np.zeros((n, n))
    for a in range(n):
        similarity = {}
        for b in range(n):
            dot = float(sum(x * y for x, y in zip(X[a], X[b])))
            if b != a and dot > 0:
                scale = (X[a] @ X[a]) ** asymmetry * (X[b] @ X[b]) ** (1 - asymmetry)
                similarity[b] = dot / (scale + shrink)
        for b in sorted(similarity, key=lambda b: (-similarity[b], b))[:k]:
            out[a, b] = similarity[b]
    return out


def matrix(seed: int, rows: int, columns: int, signed: bool = False) -> Matrix:
    rng = np.random.default_rng(seed)
    values = rng.integers(-3 if signed else 1, 5, (rows, columns))
    return np.where(rng.random((rows, columns)) < 0.4, values, 0).astype(float)


@examples(0.6)
@given(
    st.integers(0, 2**31), st.integers(1, 12), st.integers(1, 12), st.integers(1, 6),
    st.sampled_from([0.0, 0.5, 0.7, 1.0]), st.sampled_from([0.0, 3.0]), st.booleans(),
)  # fmt: skip
def test_nearest_rows_equal_brute_force(
    seed: int, rows: int, columns: int, k: int, asymmetry: float, shrink: float, signed: bool
) -> None:
    X = matrix(seed, rows, columns, signed)
    found = dense(nearest_rows(sparse(X), columns, k, asymmetry, shrink), rows)
    # small whole numbers: the dot products are exact, so both sides see the same ties
    np.testing.assert_allclose(found, plain_nearest(X, k, asymmetry, shrink), rtol=1e-14)


def test_of_equally_similar_rows_the_lower_codes_stay() -> None:
    X = np.ones((6, 3))
    near = nearest_rows(sparse(X), 3, 2)
    kept = [sorted(near.column[near.start[a] : near.start[a + 1]].tolist()) for a in range(6)]
    assert kept == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]


@pytest.mark.slow
def test_more_rows_than_one_stride() -> None:
    X = matrix(3, 1100, 6)
    found = dense(nearest_rows(sparse(X), 6, 4), 1100)
    assert ((found > 0).sum(axis=1) <= 4).all()
    np.testing.assert_allclose(found[[0, 511, 512, 1099]], plain_nearest(X, 4, 0.5, 0.0)[[0, 511, 512, 1099]])


@pytest.mark.parametrize("seed", range(5))
def test_products_transposes_and_squares_equal_numpy(seed: int) -> None:
    A, B = matrix(seed, 7, 5, signed=True), matrix(seed + 100, 5, 9, signed=True)
    wanted = np.array([3, 0, 3, 6], np.int32)
    # whole numbers below 2**24 are exact in float32
    assert np.array_equal(product_rows(wanted, sparse(A), sparse(B), 9), (A @ B)[wanted])
    assert np.array_equal(dense(sparse(A).transpose(5), 7), A.T)
    assert np.array_equal(sparse(A).squares(), (A**2).sum(axis=1))


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_products_with_a_dense_side_equal_numpy(kind: str) -> None:
    A = matrix(1, 7, 5, signed=True)
    D: NDArray[Any] = matrix(2, 5, 4).astype(kind)
    out: NDArray[Any] = np.zeros((2, 4), kind)
    sparse_times_dense(np.array([6, 1], np.int32), sparse(A), D, out)
    assert np.array_equal(out, (A @ D)[[6, 1]])
    out = np.zeros((4, 5), kind)
    dense_times_sparse(matrix(3, 4, 7).astype(kind), sparse(A), out)
    assert np.array_equal(out, matrix(3, 4, 7) @ A)
    assert np.array_equal(gram(sparse(A), sparse(A.T)), A @ A.T)
