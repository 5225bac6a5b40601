"""The four measures of similarity against their formulas, entry by entry."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.kernels.similarity import CODES, Measure, centred_rows, similar_rows, with_row
from tests.hypothesis_profiles import examples
from tests.kernels.test_sparse import Matrix, dense, matrix, sparse

MEASURES: list[Measure] = list(CODES)


def plain_similarity(a: Matrix, b: Matrix, measure: Measure, common: bool) -> float:
    """The formula, from two dense rows; an entry of 0 is none."""
    both = (a != 0) & (b != 0)
    n = int(both.sum())
    if n == 0:
        return 0.0
    if measure == "jaccard":
        return n / int(((a != 0) | (b != 0)).sum())
    if measure == "pearson":
        mean = [x[x != 0].mean() if common else x.mean() for x in (a, b)]
        a, b = a - mean[0], b - mean[1]
    x, y = (a[both], b[both]) if common else (a, b)
    if measure == "euclidean":
        return float(1 / (1 + np.linalg.norm(x - y) / (math.sqrt(n) if common else 1)))
    size = np.linalg.norm(x) * np.linalg.norm(y)
    return float(x @ y / size) if size > 1e-9 else 0.0


def plain_similar(X: Matrix, k: int, measure: Measure, common: bool, shrink: float) -> Matrix:
    out = np.zeros((len(X), len(X)))
    for a in range(len(X)):
        found = {}
        for b in range(len(X)):
            n = int(((X[a] != 0) & (X[b] != 0)).sum())
            if b != a and n:
                found[b] = plain_similarity(X[a], X[b], measure, common) * n / (n + shrink)
        near = sorted((b for b in found if found[b] > 1e-9), key=lambda b: (-round(found[b], 9), b))[:k]
        out[a, near] = [found[b] for b in near]
    return out


@examples(0.6)
@given(
    st.integers(0, 2**31), st.integers(1, 10), st.integers(1, 10),
    st.sampled_from(MEASURES), st.booleans(), st.sampled_from([0.0, 3.0]),
)  # fmt: skip
def test_all_neighbours_equal_brute_force(
    seed: int, rows: int, columns: int, measure: Measure, common: bool, shrink: float
) -> None:
    X = matrix(seed, rows, columns)
    found = dense(similar_rows(sparse(X), columns, rows, measure, common, shrink), rows)
    # values within the rounding of sums of ten squares; one that is 0 but for rounding may be on either side
    np.testing.assert_allclose(found, plain_similar(X, rows, measure, common, shrink), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("common", [False, True])
def test_the_k_nearest_are_the_best_of_all(measure: Measure, common: bool) -> None:
    X = matrix(7, 30, 12)
    every = dense(similar_rows(sparse(X), 12, 30, measure, common), 30)
    found = dense(similar_rows(sparse(X), 12, 4, measure, common), 30)
    for all_of_them, kept in zip(every, found):
        assert sorted(kept[kept > 0]) == sorted(all_of_them[all_of_them > 0])[-4:]
        assert (kept[kept > 0] == all_of_them[kept > 0]).all()


@pytest.mark.parametrize("measure", MEASURES)
def test_a_newcomer_has_the_neighbours_of_a_row_like_hers(measure: Measure) -> None:
    X = matrix(9, 12, 8)
    rows = sparse(X)
    own = slice(rows.start[3], rows.start[4])
    found = similar_rows(with_row(rows, rows.column[own], rows.value[own]), 8, 12, measure, True, first=12)
    mine = np.zeros(12)
    mine[found.column] = found.value
    known = dense(similar_rows(rows, 8, 12, measure, True), 12)[3]
    others = np.arange(12) != 3
    np.testing.assert_allclose(mine[others], known[others], rtol=1e-12)


def test_a_row_of_equal_entries_does_not_vary() -> None:
    X = np.array([[0.1, 0.1, 0.1], [1, 2, 3]])
    assert centred_rows(sparse(X)).value.tolist() == [0, 0, 0, -1, 0, 1]
    assert len(similar_rows(sparse(X), 3, 1, "pearson", common=True).value) == 0
