"""The compiled factorisation against its plain twin, known answers, and what must hold for every input."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.arrays import Floats
from murmura.core.rng import Purpose, Rng, client_secrets
from murmura.kernels.factorisation.cnmf_steps import (
    CnmfRates,
    Factors,
    factorise,
    fit_users,
    predict,
    random_factors,
    words_needed,
)
from murmura.kernels.sparse import Sparse
from tests.cnmf.plain import Plain
from tests.hypothesis_profiles import examples
from tests.kernels.plain_philox import Stream

SURPRISE = CnmfRates(0.06, 0.06, 0.02, 0.02, 0.005, 0.005)


def objective(ratings: Sparse, factors: Factors, mu: float, rates: CnmfRates) -> float:
    """Equation 9, every penalty weighed once per rating."""
    users = np.repeat(np.arange(len(ratings.start) - 1, dtype=np.int32), np.diff(ratings.start))
    error = ratings.value - predict(factors, mu, users, ratings.column)
    per_user, per_item = np.diff(ratings.start), np.bincount(ratings.column, minlength=len(factors.b_h))
    penalties = (
        rates.alpha * (per_user @ (factors.W**2).sum(axis=1)),
        rates.beta * (per_item @ (factors.H**2).sum(axis=1)),
        rates.gamma * (per_user @ factors.b_w**2),
        rates.delta * (per_item @ factors.b_h**2),
    )
    return float(error @ error + sum(penalties))


def sparse(R: Floats) -> Sparse:
    """The entries above 0 of a dense matrix."""
    user, item = np.nonzero(R)
    return Sparse.of(np.concatenate(([0], np.cumsum((R > 0).sum(axis=1)))), item, R[user, item])


def scattered(seed: int, n: int = 12, m: int = 9) -> Floats:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, m)) < 0.4, rng.integers(1, 6, (n, m)), 0).astype(np.float64)


def start(n: int, m: int, k: int, seed: int = 0) -> Factors:
    words = Rng(client_secrets(seed, 1)[0]).stream(Purpose.INIT).words(words_needed(n, m, k))
    return random_factors(words, n, m, k)


def twin(R: Floats, k: int, seed: int, mu: float) -> tuple[Plain, list[tuple[int, int, float]]]:
    secret = client_secrets(seed, 1)[0]
    stream = Stream((int(secret[0]), int(secret[1])), (0, 1, 0))
    draws = [(stream.word() + 0.5) * 2.0**-32 / k**0.5 for _ in range(21 * k)]
    rows = [draws[n * k : (n + 1) * k] for n in range(21)]
    ratings = [(int(i), int(j), float(R[i, j])) for i, j in zip(*np.nonzero(R))]
    return Plain(rows[:12], rows[12:], [0.0] * 12, [0.0] * 9, mu), ratings


@pytest.mark.parametrize("k", [1, 3, 8])
def test_equals_its_plain_twin_with_identical_draws(k: int) -> None:
    R = scattered(k)
    plain, ratings = twin(R, k, 3, 3.3)
    rates = CnmfRates(0.05, 0.07, 0.03, 0.01, 0.009, 0.004)
    expected = [plain.one_pass(ratings, rates) for _ in range(20)]
    found, errors = factorise(sparse(R), start(12, 9, k, seed=3), 3.3, rates, 20)
    # 20 passes over sums of at most 12 + k + 3 terms: 20 * 23 * 2^-52 is 1e-13, and ratios amplify it
    np.testing.assert_allclose(errors, expected, rtol=1e-9)
    for name in ("W", "H", "b_w", "b_h"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-9, atol=1e-12)
    assert predict(found, 3.3, np.array([4], np.int32), np.array([7], np.int32))[0] == pytest.approx(
        plain.estimate(4, 7)
    )


def test_a_rank_one_matrix_is_completed() -> None:
    R = np.outer([1.0, 2.0, 3.0, 1.5], [1.0, 1.5, 0.5, 1.2, 0.8])
    known = R.copy()
    known[0, 1] = known[2, 3] = known[3, 0] = 0
    rates = CnmfRates(1e-6, 1e-6, 0, 0, 0, 0)  # no biases: eta is 0, mu is 0
    found = start(4, 5, 1)
    for n in range(400):  # without a constant part, both sides at once would go to and fro for ever
        found, _ = factorise(sparse(known), found, 0.0, rates, 1, users=n % 2 == 0, items=n % 2 == 1)
    np.testing.assert_allclose(found.W @ found.H.T, R, rtol=1e-3)


def test_biases_alone_find_users_and_items_that_rate_apart() -> None:
    a, b = np.array([-1.0, 0.0, 1.0]), np.array([-0.5, 0.5, 0.0, 0.2])
    R = 3.0 + a[:, None] + b
    factors = Factors(np.zeros((3, 1)), np.zeros((4, 1)), np.zeros(3), np.zeros(4))
    found, errors = factorise(sparse(R), factors, 3.0, CnmfRates(0.06, 0.06, 0, 0, 0.1, 0.1), 500)
    np.testing.assert_allclose(found.b_w[:, None] + found.b_h, R - 3.0, atol=1e-9)
    assert errors[-1] < 1e-15
    assert not found.W.any()


def test_unrated_items_and_silent_users_get_zero_factors_and_no_bias() -> None:
    R = scattered(1)
    R[:, 4] = 0
    R[6] = 0
    found, _ = factorise(sparse(R), start(12, 9, 3), 3.0, SURPRISE, 5)
    assert not found.H[4].any()
    assert not found.W[6].any()
    assert found.b_h[4] == found.b_w[6] == 0
    assert found.H[[0, 1, 2, 3, 5, 6, 7, 8]].all()


@pytest.mark.parametrize(("users", "items"), [(True, False), (False, True)])
def test_one_factor_at_a_time_never_raises_the_objective(users: bool, items: bool) -> None:
    held = CnmfRates(0.05, 0.07, 0.02, 0.02, 0.0, 0.0)  # eta 0: biases stay
    ratings, factors = sparse(scattered(5)), start(12, 9, 4)
    factors = factors._replace(b_w=np.linspace(-1, 1, 12), b_h=np.linspace(0.5, -0.5, 9))
    seen = [objective(ratings, factors, 3.0, held)]
    for _ in range(60):
        factors, _ = factorise(ratings, factors, 3.0, held, 1, users=users, items=items)
        seen.append(objective(ratings, factors, 3.0, held))
    assert all(later <= before * (1 + 1e-12) for before, later in pairwise(seen))
    assert seen[-1] < 0.9 * seen[0]


def test_a_rule_without_the_constant_part_raises_the_objective() -> None:
    """The test above can fail: numerators of r - mu - b, as in a first guess at the rule, do not descend."""
    R = scattered(5)
    ratings, factors = sparse(R), start(12, 9, 4)
    held = CnmfRates(0.05, 0.07, 0.02, 0.02, 0.0, 0.0)
    rose = False
    for _ in range(10):
        before = objective(ratings, factors, 3.0, held)
        centred = np.where(R > 0, np.maximum(R - 3.0, 0.1), 0)
        below = (np.where(R > 0, factors.W @ factors.H.T + 3.0, 0)) @ factors.H
        factors = factors._replace(W=factors.W * (centred @ factors.H) / below)
        rose |= objective(ratings, factors, 3.0, held) > before
    assert rose


def test_a_side_that_is_held_stays_bit_for_bit() -> None:
    ratings, factors = sparse(scattered(2)), start(12, 9, 3)
    moved, _ = factorise(ratings, factors, 3.0, SURPRISE, 3, items=False)
    assert np.array_equal(moved.H, factors.H)
    assert np.array_equal(moved.b_h, factors.b_h)
    assert not np.array_equal(moved.W, factors.W)
    assert not np.array_equal(factors.W, np.zeros((12, 3)))  # the argument is left alone


def test_a_newcomer_with_a_known_history_is_predicted_like_its_owner() -> None:
    R = scattered(7, 30, 12)
    found, _ = factorise(sparse(R), start(30, 12, 3), 3.0, SURPRISE, 500)
    own = np.flatnonzero(R[8]).astype(np.int32)
    ratings = Sparse.of(np.array([0, len(own)]), own, R[8][own])
    (w,), (b,) = fit_users(ratings, found.H, found.b_h, 3.0, SURPRISE, iterations=3000)
    known = predict(found, 3.0, np.full(12, 8, np.int32), np.arange(12, dtype=np.int32))
    # both are near a minimum of the same convex problem; the owner's factors stopped after 500 joint passes
    np.testing.assert_allclose(found.H @ w + b + found.b_h + 3.0, known, atol=0.1)


FAR = 3053498330  # a seed with a group like that
box = st.fixed_dictionaries(
    {
        "alpha": st.floats(0.04, 0.08),
        "beta": st.floats(0.04, 0.08),
        "gamma": st.floats(0.01, 0.04),
        "delta": st.floats(0.01, 0.04),
        "eta_w": st.floats(0.002, 0.009),
        "eta_h": st.floats(0.002, 0.009),
    }
)


@examples(2)
@given(
    box, st.integers(1, 30), st.integers(0, 2**32 - 1), st.floats(0.5, 2), st.sampled_from([1e-3, 1.0, 100.0])
)
def test_nothing_in_the_search_box_explodes(
    rates: dict[str, float], k: int, seed: int, mu: float, scale: float
) -> None:
    R = scale * scattered(seed)
    R[0, 0] = scale
    mean = mu * R[R > 0].mean()  # a preset mean may be far from the group's own
    found, errors = factorise(sparse(R), start(12, 9, k, seed), mean, CnmfRates(**rates), 500)
    assert all(np.isfinite(part).all() for part in found)
    assert (found.W >= 0).all()
    assert (found.H >= 0).all()
    assert max(np.abs(found.b_w).max(), np.abs(found.b_h).max()) <= R.max()
    assert errors[-1] < errors[0]


def test_factors_that_overshoot_each_other_calm_down() -> None:
    """Half the mean pulls biases below zero; whole steps then go to and fro, to thousands from eleven."""
    R = scattered(FAR)
    R[0, 0], mean = 1.0, 0.5 * R[R > 0].mean()
    rates = CnmfRates(0.0625, 0.0625, 0.03125, 0.015625, 0.0078125, 0.0078125)
    _, errors = factorise(sparse(R), start(12, 9, 1, FAR), mean, rates, 500)
    assert max(errors[50:]) < 1.01 * errors[50]
    assert errors[-1] < 12


def test_smaller_steps_are_those_of_the_plain_twin() -> None:
    """With large steps of the biases a rise comes early, before rounding has grown with it."""
    R = scattered(1)
    R[0, 0], mean = 1.0, 0.5 * R[R > 0].mean()
    rates = CnmfRates(0.04, 0.04, 0.01, 0.01, 0.4, 0.4)
    plain, ratings = twin(R, 1, 1, mean)
    expected = [plain.one_pass(ratings, rates) for _ in range(40)]
    assert plain.power < 1
    found, errors = factorise(sparse(R), start(12, 9, 1, 1), mean, rates, 40)
    np.testing.assert_allclose(errors, expected, rtol=1e-6)
    np.testing.assert_allclose(found.W, plain.W, rtol=1e-6)


def test_starts_do_not_grow_with_k() -> None:
    means = [float((start(200, 200, k).W @ start(200, 200, k).H.T).mean()) for k in (2, 8, 32)]
    # each product is a mean of k products of independent uniforms: 1/4, spread below 1 / sqrt(200 k)
    assert all(abs(mean - 0.25) < 4 / np.sqrt(200) / 4 for mean in means)
