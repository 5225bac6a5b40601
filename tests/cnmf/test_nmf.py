"""Standard NMF: its twin, its objective, its start, and how K is chosen."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.arrays import Floats
from murmura.kernels.factorisation.nmf import EVERY, nmf, nndsvd
from murmura.lab.groups.tuned_groups import best_rank
from tests.cnmf.plain import nmf_pass
from tests.hypothesis_profiles import examples


def planted(m: int = 30, n: int = 18, K: int = 3, seed: int = 0) -> Floats:
    """A product of sparse non-negative factors."""
    rng = np.random.default_rng(seed)
    W, H = rng.random((m, K)) * (rng.random((m, K)) < 0.6), rng.random((K, n)) * (rng.random((K, n)) < 0.6)
    return W @ H


def test_equals_its_plain_twin() -> None:
    X = planted() + 0.1
    W, H = (side.tolist() for side in nndsvd(X, 4))
    for _ in range(EVERY):
        W, H = nmf_pass(X.tolist(), W, H)
    found = nmf(X, 4, EVERY)
    np.testing.assert_allclose(found.W, W, rtol=1e-9)
    np.testing.assert_allclose(found.H, H, rtol=1e-9)
    direct = np.square(X - found.W @ found.H).sum() / np.square(X).sum()
    assert found.errors == [pytest.approx(direct, abs=1e-12)]


@examples(0.3)
@given(st.integers(0, 10**6), st.integers(1, 8), st.booleans())
def test_the_error_never_rises_and_nothing_is_negative(seed: int, K: int, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((17, 12)) * (rng.random((17, 12)) < 0.5)
    known = rng.random(X.shape) < 0.8 if masked else None
    found = nmf(X, K, 200, tolerance=0, known=known)
    # the error is a difference of sums of 17 * 12 terms: 204 * 2^-52 of the norm may be lost
    assert all(later <= before + 1e-12 for before, later in pairwise(found.errors))
    assert min(found.W.min(), found.H.min()) >= 0
    assert np.isfinite(found.W).all()
    assert np.isfinite(found.H).all()


def test_a_planted_product_is_found() -> None:
    X = planted()
    assert nmf(X, 3, 5000, tolerance=0).errors[-1] < 1e-5


def test_the_start_is_positive_and_close() -> None:
    X = planted()
    W, H = nndsvd(X, 3)
    assert min(W.min(), H.min()) > 0
    assert np.square(X - W @ H).sum() < np.square(X - X.mean()).sum()
    wide = nndsvd(X.T.copy(), 3)
    np.testing.assert_allclose(wide[0], H.T, atol=1e-9)
    np.testing.assert_allclose(wide[1], W.T, atol=1e-9)


def test_more_patterns_than_the_matrix_has_are_harmless() -> None:
    X = np.outer([1.0, 2.0, 0.0], [3.0, 1.0])
    found = nmf(X, 5, 2000, tolerance=0)
    np.testing.assert_allclose(found.W @ found.H, X, atol=1e-3)


def test_an_empty_matrix_stays_empty() -> None:
    found = nmf(np.zeros((4, 3)), 2, 20)
    assert not found.W.any()
    assert np.isfinite(found.H).all()


def test_single_precision_agrees_with_double() -> None:
    X = planted(60, 40, 4)
    double, single = nmf(X, 4, 100), nmf(X.astype(np.float32), 4, 100)
    assert single.W.dtype == np.float32
    np.testing.assert_allclose(single.W @ single.H, double.W @ double.H, atol=1e-3)


def test_unknown_entries_do_not_matter() -> None:
    X = planted()
    known = np.random.default_rng(1).random(X.shape) < 0.7
    other = np.where(known, X, 99.0)
    one, two = nmf(X, 3, 100, known=known), nmf(other, 3, 100, known=known)
    assert np.array_equal(one.W, two.W)
    assert np.array_equal(one.H, two.H)


def test_the_planted_number_of_patterns_is_chosen() -> None:
    X = planted(60, 50, 4, seed=3)
    assert best_rank(X, (2, 4, 8), np.random.default_rng(0), folds=2, iterations=300) == 4
