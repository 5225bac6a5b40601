"""Paired tests and corrections: by hand, by counting out every sign, and against scipy."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from murmura.core.errors import DataError, SettingError
from murmura.evaluation import Evaluation
from murmura.evaluation.significance import (
    Test,
    adjust,
    bonferroni,
    compare,
    compare_all,
    compare_values,
    holm,
)
from tests.hypothesis_profiles import examples

TESTS: tuple[Test, ...] = ("t", "wilcoxon")


def counted_out(differences: list[float]) -> float:
    """Wilcoxon's p from all 2^n choices of signs, in plain Python."""
    kept = [d for d in differences if d]
    sizes = sorted(abs(d) for d in kept)
    rank = {s: (2 * sizes.index(s) + sizes.count(s) + 1) / 2 for s in sizes}
    up = sum(rank[abs(d)] for d in kept if d > 0)
    sums = [
        sum(rank[abs(d)] for d, chosen in zip(kept, signs) if chosen)
        for signs in itertools.product((False, True), repeat=len(kept))
    ]
    below, above = sum(s <= up for s in sums), sum(s >= up for s in sums)
    return min(1.0, 2 * min(below, above) / len(sums))


def test_wilcoxon_by_hand() -> None:
    # |d| = 1, 2, 3 all positive: of 8 choices of signs one is as extreme on each side
    found = compare_values(np.array([1.0, 2.0, 3.0]), np.zeros(3))
    assert (found.users, found.difference, found.statistic, found.p) == (3, 2.0, 0.0, 0.25)


def test_t_by_hand() -> None:
    # differences 1, 2, 3: mean 2, s = 1, t = 2 sqrt(3); with 2 degrees of freedom p = 1 - t / sqrt(t^2 + 2)
    found = compare_values(np.array([1.0, 2.0, 3.0]), np.zeros(3), "t")
    t = 2 * math.sqrt(3)
    assert found.statistic == pytest.approx(t)
    assert found.p == pytest.approx(1 - t / math.sqrt(t * t + 2))


@examples(0.6)
@given(tenths=st.lists(st.integers(-5, 5), min_size=2, max_size=9).filter(any))
def test_wilcoxon_with_ties_and_zeros_equals_counting_out(tenths: list[int]) -> None:
    differences = [n / 10 for n in tenths]
    found = compare_values(np.array(differences), np.zeros(len(differences)))
    assert found.p == pytest.approx(counted_out(differences), rel=1e-12)


@pytest.mark.parametrize("n", [2, 10, 50, 51, 400])
def test_against_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    first, second = rng.random(n), rng.random(n) - 0.05
    rank, t = compare_values(first, second), compare_values(first, second, "t")
    theirs = stats.wilcoxon(first, second)
    assert (rank.statistic, rank.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)
    theirs = stats.ttest_rel(first, second)
    assert (t.statistic, t.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


def test_many_ties_against_scipy() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 5, 300), rng.integers(0, 4, 300)
    theirs = stats.wilcoxon(first, second)
    found = compare_values(first / 1.0, second / 1.0)
    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)


def test_differences_equal_but_for_rounding_are_ties() -> None:
    # as floats 0.3 - 0.2 < 0.2 - 0.1 < 0.1: without rounding they would be ranked
    first, second = np.array([0.3, 0.2, 0.1, 0.0]), np.array([0.2, 0.1, 0.2, 0.0])
    assert compare_values(first, second).p == counted_out([0.1, 0.1, -0.1, 0.0])


@pytest.mark.parametrize("test", TESTS)
def test_no_difference_at_all_has_p_of_one(test: Test) -> None:
    same = np.array([0.1, 0.4, 0.2])
    found = compare_values(same, same.copy(), test)
    assert (found.difference, found.statistic, found.p, found.users) == (0.0, 0.0, 1.0, 3)


def test_the_same_difference_for_everyone_is_certain_under_t() -> None:
    found = compare_values(np.array([0.3, 0.2, 0.1]), np.array([0.2, 0.1, 0.0]), "t")
    assert (found.statistic, found.p) == (math.inf, 0.0)
    assert compare_values(np.zeros(2), np.ones(2), "t").statistic == -math.inf


def test_nan_users_take_no_part_and_one_user_is_no_test() -> None:
    first = np.array([0.5, np.nan, 0.3, 0.2])
    second = np.array([0.1, 0.2, np.nan, 0.0])
    assert compare_values(first, second).users == 2
    assert math.isnan(compare_values(first[:2], second[:2]).p)
    with pytest.raises(DataError, match="there are none"):
        compare_values(first[1:3], second[1:3])


def test_swapping_the_sides_turns_the_difference_and_keeps_p() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.random(30), rng.random(30)
    for test in TESTS:
        one, other = compare_values(first, second, test), compare_values(second, first, test)
        assert one.p == pytest.approx(other.p)
        assert one.difference == pytest.approx(-other.difference)


def wrongly_often(p: list[float]) -> bool:
    """Whether p < 0.05 is not as frequent as promised, by four standard errors."""
    return abs(float(np.mean(np.array(p) < 0.05)) - 0.05) > 4 * math.sqrt(0.05 * 0.95 / len(p))


def test_p_below_a_twentieth_is_as_rare_as_promised_and_an_unpaired_test_is_found_out() -> None:
    rng = np.random.default_rng(7)
    base = rng.beta(2, 5, (1000, 60))
    first, second = base + rng.normal(0, 0.02, base.shape), base + rng.normal(0, 0.02, base.shape)
    for test in TESTS:
        assert not wrongly_often([compare_values(a, b, test).p for a, b in zip(first, second)])
    assert wrongly_often([stats.ttest_ind(a, b).pvalue for a, b in zip(first, second)])


def evaluation(users: list[int], values: list[float]) -> Evaluation:
    return Evaluation({}, {"P@10": np.array(values)}, np.array(users, np.int32))


def test_evaluations_are_compared_on_their_common_users() -> None:
    first, second = evaluation([1, 3, 5, 9], [0.1, 0.2, 0.3, 0.9]), evaluation([3, 5, 7], [0.1, 0.1, 0.5])
    found = compare(first, second, "P@10", "t")
    assert found.users == 2
    assert found.difference == pytest.approx(0.15)


def test_a_metric_without_values_per_user_is_refused() -> None:
    one = evaluation([1], [0.1])
    with pytest.raises(SettingError, match="'IC@10' is not among P@10"):
        compare(one, one, "IC@10")


def test_compare_all_corrects_for_the_number_of_rivals() -> None:
    rng = np.random.default_rng(5)
    users = list(range(80))
    base = rng.random(80)
    reference = evaluation(users, base.tolist())
    rivals = {str(n): evaluation(users, (base + rng.normal(0.02 * n, 0.1, 80)).tolist()) for n in range(3)}
    found = compare_all(reference, rivals, "P@10")
    assert [one.adjusted for one in found.values()] == pytest.approx(holm([one.p for one in found.values()]))
    assert found["2"].difference > 0  # the rival minus the reference
    plain = compare_all(reference, rivals, "P@10", correction="none")
    assert all(one.adjusted == one.p for one in plain.values())


# --- corrections ---


def test_corrections_by_hand() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert bonferroni(p) == pytest.approx([0.04, 0.16, 0.12, 0.02])
    # sorted .005 x 4, .01 x 3, .03 x 2 = .06, .04 x 1 = .04 but not below .06
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])


def test_a_nan_is_no_test() -> None:
    assert bonferroni([0.01, np.nan, 0.02])[[0, 2]] == pytest.approx([0.02, 0.04])
    assert holm([0.01, np.nan, 0.02])[[0, 2]] == pytest.approx([0.02, 0.02])
    assert np.isnan(holm([0.01, np.nan, 0.02])[1])
    assert len(holm([])) == 0


@examples()
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_p_and_bonferroni_and_equals_its_definition(p: list[float]) -> None:
    adjusted = holm(p)
    assert (adjusted >= np.array(p) - 1e-15).all()
    assert (adjusted <= bonferroni(p) + 1e-15).all()
    order = sorted(range(len(p)), key=lambda n: p[n])
    for place, n in enumerate(order):  # the largest of the scaled values so far
        steps = [(len(p) - j) * p[order[j]] for j in range(place + 1)]
        assert adjusted[n] == pytest.approx(min(1.0, max(steps)))
    assert adjust(p, "none").tolist() == p
