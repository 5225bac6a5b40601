"""The score functions: the thesis's worked examples to the printed digits, and its properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.aggregation.weighting import (
    capacities,
    choquet,
    importances,
    ordered_weighted_average,
    prioritised,
    weighted_mean,
)
from murmura.core.errors import SettingError

ALICE, BOB = (0.9, 0.2, 0.4), (0.1, 0.8, 0.5)  # dataset size, clothes diversity, image sharpness
unit = st.floats(0, 1)
criteria = st.lists(unit, min_size=1, max_size=6)
ROUNDING = 1e-12


def test_example_51_of_the_thesis() -> None:
    scores = weighted_mean(np.array([ALICE, BOB]), importances((), 3))
    weights = scores / scores.sum()
    assert [f"{weight:.2f}" for weight in weights] == ["0.52", "0.48"]


def test_example_52_of_the_thesis() -> None:
    first = prioritised(np.array([ALICE, BOB]))
    assert [round(score, 6) for score in first.tolist()] == [1.152, 0.22]
    other = prioritised(np.array([ALICE, BOB])[:, ::-1])  # sharpness, diversity, size
    assert [round(score, 6) for score in other.tolist()] == [0.552, 0.94]


@given(criteria, unit, st.data())
def test_a_better_fulfilled_criterion_lowers_no_prioritised_score(
    x: list[float], by: float, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(x) - 1))
    better = [max(value, by) if i == place else value for i, value in enumerate(x)]  # property 5.6
    assert prioritised(np.array(x)) <= prioritised(np.array(better)) + ROUNDING


@given(criteria, st.data())
def test_what_follows_an_unfulfilled_criterion_does_not_count(x: list[float], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(x) - 1))
    missing = [0.0 if i == place else value for i, value in enumerate(x)]  # property 5.7
    assert prioritised(np.array(missing)) == prioritised(np.array(x[:place]))


@pytest.mark.parametrize("m", [1, 2, 5])
def test_a_prioritised_score_goes_from_0_to_the_number_of_criteria(m: int) -> None:
    assert prioritised(np.zeros((1, m))).tolist() == [0.0]
    assert prioritised(np.ones((1, m))).tolist() == [float(m)]


@given(st.lists(criteria.filter(lambda x: len(x) == 3), min_size=1, max_size=5))
def test_owa_is_the_mean_the_best_and_the_worst_criterion(rows: list[list[float]]) -> None:
    x = np.array(rows)
    np.testing.assert_allclose(ordered_weighted_average(x, importances((), 3)), x.mean(axis=1), atol=ROUNDING)
    assert (ordered_weighted_average(x, importances((1, 0, 0), 3)) == x.max(axis=1)).all()
    assert (ordered_weighted_average(x, importances((0, 0, 1), 3)) == x.min(axis=1)).all()


@given(
    st.lists(criteria.filter(lambda x: len(x) == 3), min_size=1, max_size=5),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
)
def test_an_additive_capacity_gives_the_weighted_mean(rows: list[list[float]], parts: list[int]) -> None:
    names, a = ("a", "b", "c"), np.array(parts) / sum(parts)
    sets = [[i for i in range(3) if place >> i & 1] for place in range(1, 7)]
    additive = {"+".join(names[i] for i in one): min(1.0, sum(a[i] for i in one)) for one in sets}
    x = np.array(rows)
    np.testing.assert_allclose(
        choquet(x, capacities(additive, names)), weighted_mean(x, importances(parts, 3)), atol=1e-9
    )


def test_a_capacity_lets_criteria_help_or_replace_each_other() -> None:
    names, x = ("a", "b"), np.array([[0.6, 0.2], [0.4, 0.4]])
    together = capacities({"a": 0.0, "b": 0.0}, names)  # only both count: the smaller one
    either = capacities({"a": 1.0, "b": 1.0}, names)  # one is enough: the larger one
    np.testing.assert_allclose(choquet(x, together), [0.2, 0.4])
    np.testing.assert_allclose(choquet(x, either), [0.6, 0.4])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"a": 0.4}, "none for 'b'"),
        ({"a": 0.4, "b": 0.5, "c": 0.1}, r"keys \(a, b, a\+b\), but has 'c'"),
        ({"a": 0.4, "b": 0.5, "a+b": 0.9}, "1 for all criteria together, but is 0.9"),
        ({"a": 0.4, "b": 1.2}, "must not fall when a criterion joins, but 'a\\+b' has 1 and 'b' has 1.2"),
        ({"a": -0.1, "b": 0.2}, "'a' has -0.1"),
    ],
)
def test_a_capacity_that_is_none_is_refused(wrong: dict[str, float], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        capacities(wrong, ("a", "b"))


@pytest.mark.parametrize("wrong", [(1.0,), (1.0, -1.0), (0.0, 0.0)])
def test_an_importance_that_is_none_is_refused(wrong: tuple[float, ...]) -> None:
    with pytest.raises(SettingError, match="one number from 0 for each of the 2 criteria"):
        importances(wrong, 2)
