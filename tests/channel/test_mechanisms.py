"""Mechanisms of the thesis: its examples, guarantees checked against the distributions, impostors that fail."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from murmura.channel.noise_terms import epsilon_of
from murmura.core.arrays import Bools, Floats
from murmura.core.errors import SettingError
from murmura.lab.protections.mechanisms import (
    Guarantee,
    add_gaussian,
    add_laplace,
    advanced,
    analytic_sigma,
    classical_sigma,
    composed,
    exponential_choice,
    exponential_probabilities,
    laplace_scale,
    response_counts,
    truth_probability,
)

GRID = np.linspace(50, 160, 11001)


def laplace_density(x: Floats, scale: float) -> Floats:
    """Equation 3.10."""
    density: Floats = np.exp(-np.abs(x) / scale) / (2 * scale)
    return density


def randomised_response(bits: Bools, epsilon: float, rng: np.random.Generator) -> Bools:
    """Every bit told as it is or turned around."""
    told: Bools = bits ^ (rng.random(np.shape(bits)) >= truth_probability(epsilon))
    return told


def largest_loss(one: float, other: float, scale: float) -> float:
    """The largest privacy loss (equation 3.8) over all answers."""
    ratio = laplace_density(GRID - one, scale) / laplace_density(GRID - other, scale)
    return float(np.log(np.maximum(ratio, 1 / ratio)).max())


def test_example_3_1_a_count_of_people_older_than_25() -> None:
    """100 or 101 of them; Lap(1 / 0.5) makes the answer (0.5, 0)-private."""
    scale = laplace_scale(1, 0.5)
    assert scale == 2
    assert largest_loss(101, 100, scale) == pytest.approx(0.5)
    more, fewer = (
        laplace_density(np.array(answer) - 101, scale) / laplace_density(np.array(answer) - 100, scale)
        for answer in (103.0, 98.0)
    )
    assert more > 1 > fewer  # 103 speaks for 101, 98 for 100
    assert math.exp(-0.5) <= fewer < more <= math.exp(0.5) + 1e-12


def test_example_3_2_who_adds_five_needs_five_times_the_noise() -> None:
    scale = laplace_scale(1, 0.5)
    assert largest_loss(105, 100, scale) == pytest.approx(5 * 0.5)
    wide = laplace_scale(5, 0.5)
    assert wide == 10
    assert largest_loss(105, 100, wide) == pytest.approx(0.5)


def test_several_answers_spend_their_sum() -> None:
    """Theorem 3.2, and the text before it: m answers to one question are (m epsilon, 0)-private."""
    assert composed([Guarantee(0.5)] * 4) == Guarantee(2.0, 0.0)
    assert composed([Guarantee(0.5, 1e-6), Guarantee(0.25, 2e-6)]) == pytest.approx(Guarantee(0.75, 3e-6))
    assert composed([Guarantee(3.0 / 7, 1e-5 / 7)] * 7) == pytest.approx(Guarantee(3.0, 1e-5))


def test_advanced_composition_by_hand_and_where_it_pays() -> None:
    """k = 100 answers of .1 and delta 1e-5: 4.7985 + 1.0517; the sum would be 10."""
    found = advanced(Guarantee(0.1, 1e-8), 100, 1e-5)
    assert found.epsilon == pytest.approx(0.1 * math.sqrt(200 * math.log(1e5)) + 10 * (math.exp(0.1) - 1))
    assert found.epsilon == pytest.approx(5.850, abs=1e-3)
    assert found.delta == pytest.approx(1.1e-5)
    assert advanced(Guarantee(0.1), 2, 1e-5).epsilon > 0.2  # few answers: the sum is better


def laplace_moments(drawn: np.ndarray[tuple[int, ...], np.dtype[np.float64]], scale: float) -> bool:
    """Mean 0, mean of |x| b, variance 2 b^2, each within five standard errors."""
    n, size = len(drawn), np.abs(drawn)
    return bool(
        abs(drawn.mean()) < 5 * math.sqrt(2 / n) * scale
        and abs(size.mean() - scale) < 5 * scale / math.sqrt(n)
        and abs((drawn**2).mean() - 2 * scale**2) < 5 * math.sqrt(20 / n) * scale**2
    )


def test_laplace_noise_has_its_moments_and_impostors_have_not() -> None:
    rng, scale = np.random.default_rng(0), 3.0
    drawn = add_laplace(np.full(200_000, 7.0), scale, rng) - 7.0
    assert laplace_moments(drawn, scale)
    assert not laplace_moments(rng.laplace(0, scale / 1.05, 200_000), scale)
    assert not laplace_moments(rng.normal(0, math.sqrt(2) * scale, 200_000), scale)  # the variance alone fits


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-5), (0.9, 1e-6), (0.99, 1e-3)])
def test_both_gaussian_calibrations_hold_and_the_analytic_one_is_smaller(epsilon: float, delta: float) -> None:
    asked = Guarantee(epsilon, delta)
    classical, analytic = classical_sigma(2.0, asked), analytic_sigma(2.0, asked)
    assert classical == pytest.approx(2 * math.sqrt(2 * math.log(1.25 / delta)) / epsilon)
    assert epsilon_of(2.0 / classical, delta) < epsilon  # more than was asked for
    assert epsilon_of(2.0 / analytic, delta) == pytest.approx(epsilon)
    assert analytic < classical
    assert true_delta(2.0, analytic, epsilon) == pytest.approx(delta, rel=1e-6)
    assert true_delta(2.0, analytic * 0.98, epsilon) > delta  # and less noise does not do


def true_delta(sensitivity: float, sigma: float, epsilon: float) -> float:
    """By integration: the mass by which one answer is likelier than e^epsilon times under the other."""
    x = np.linspace(-40 * sigma, 40 * sigma + sensitivity, 2_000_001)
    above = norm.pdf(x, sensitivity, sigma) - math.exp(epsilon) * norm.pdf(x, 0, sigma)
    return float(np.trapezoid(np.maximum(above, 0), x))


def test_the_classical_calibration_is_refused_where_it_is_not_proven() -> None:
    """At epsilon 8 its formula has too little noise for its delta: the analytic one needs more."""
    with pytest.raises(SettingError, match="below 1, but it is 8; take the analytic one"):
        classical_sigma(1.0, Guarantee(8.0, 1e-5))
    formula = math.sqrt(2 * math.log(1.25 / 0.3)) / 60
    assert formula < analytic_sigma(1.0, Guarantee(60.0, 0.3))


def test_gaussian_noise_has_its_moments() -> None:
    drawn = add_gaussian(np.zeros(200_000), 3.0, np.random.default_rng(1))
    assert abs(drawn.mean()) < 5 * 3 / math.sqrt(200_000)
    assert abs(drawn.var() - 9) < 5 * 9 * math.sqrt(2 / 200_000)
    assert abs((drawn**4).mean() / 81 - 3) < 5 * math.sqrt(96 / 200_000)


def test_the_exponential_mechanism_is_private_and_prefers_the_best() -> None:
    """A day for a meeting: who can come on each; one person changes every number by at most 1."""
    people = np.array([3.0, 9.0, 8.0, 0.0])
    chances = exponential_probabilities(people, 1.0, 0.8)
    assert chances.sum() == pytest.approx(1)
    assert chances.argmax() == 1
    np.testing.assert_allclose(chances[1] / chances[3], math.exp(0.8 * 9 / 2))
    for change in np.array(np.meshgrid(*[[-1, 0, 1]] * 4)).reshape(4, -1).T:
        other = exponential_probabilities(people + change, 1.0, 0.8)
        assert np.abs(np.log(other / chances)).max() <= 0.8 + 1e-12
    careless = [
        exponential_probabilities(2 * (people + change), 1.0, 0.8) for change in ([0] * 4, [1, -1, 1, -1])
    ]
    assert np.abs(np.log(careless[1] / careless[0])).max() > 0.8  # twice the score, once the sensitivity
    assert np.isfinite(exponential_probabilities(np.array([1e6, 0.0]), 1.0, 4.0)).all()


def test_exponential_choices_come_as_often_as_they_should() -> None:
    rng, utilities = np.random.default_rng(2), np.array([1.0, 2.0, 4.0])
    drawn = (
        np.bincount([exponential_choice(utilities, 1.0, 1.0, rng) for _ in range(20_000)], minlength=3) / 20_000
    )
    expected = exponential_probabilities(utilities, 1.0, 1.0)
    assert (np.abs(drawn - expected) < 5 * np.sqrt(expected * (1 - expected) / 20_000)).all()


def test_randomised_response_tells_the_truth_as_often_as_epsilon_allows() -> None:
    """ln(.99 / .01) = 4.6 for an item of which one in a hundred is turned around."""
    assert truth_probability(4.595) == pytest.approx(0.99, abs=1e-5)
    bits = np.arange(300_000) % 3 == 0
    told = randomised_response(bits, 1.3, np.random.default_rng(3))
    truth, n = truth_probability(1.3), len(bits)
    assert abs((told == bits).mean() - truth) < 5 * math.sqrt(truth * (1 - truth) / n)
    yes, no = told[bits].mean(), told[~bits].mean()
    assert math.log(yes / no) == pytest.approx(1.3, abs=0.02)


def test_counts_of_randomised_answers_are_right_on_average() -> None:
    rng, people = np.random.default_rng(4), 2000
    bits = np.arange(people)[:, None] < np.array([0, 50, 700, 2000])  # (people, items)
    told = np.array([randomised_response(bits, 1.0, rng).sum(axis=0) for _ in range(200)])
    truth = truth_probability(1.0)
    error = math.sqrt(people * truth * (1 - truth)) / (2 * truth - 1) / math.sqrt(200)
    found = np.array([response_counts(one, people, 1.0) for one in told]).mean(axis=0)
    assert (np.abs(found - bits.sum(axis=0)) < 5 * error).all()
    assert (np.abs(told.mean(axis=0) - bits.sum(axis=0)) > 5 * error).any()  # what is told is not what is


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_budget_is_refused(bad: float) -> None:
    for wrong in (
        lambda: laplace_scale(1.0, bad),
        lambda: laplace_scale(bad, 1.0),
        lambda: add_laplace(np.zeros(1), bad, np.random.default_rng(0)),
        lambda: exponential_probabilities(np.zeros(2), 1.0, bad),
        lambda: truth_probability(bad),
        lambda: analytic_sigma(bad, Guarantee(1.0, 1e-5)),
    ):
        with pytest.raises(SettingError, match="must be above 0"):
            wrong()
    with pytest.raises(SettingError, match="delta"):
        classical_sigma(1.0, Guarantee(0.5, 0.0))
