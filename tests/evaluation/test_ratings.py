"""RMSE, MSE and MAE against hand and plain Python."""

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.errors import DataError
from murmura.evaluation.measure import rating_errors
from tests.hypothesis_profiles import examples

ROWS = st.lists(
    st.tuples(st.floats(-10, 10), st.floats(1, 5), st.sampled_from([3, 5, 8])), min_size=1, max_size=30
)


def test_by_hand() -> None:
    found = rating_errors(np.array([4.0, 1.0, 5.0]), np.array([3.0, 3.0, 5.0]), np.array([7, 7, 2]))
    assert found.values == pytest.approx(
        {
            "RMSE": math.sqrt(5 / 3),
            "MSE": 5 / 3,
            "MAE": 1.0,
            "RMSEu": math.sqrt(2.5) / 2,
            "MSEu": 2.5 / 2,
            "MAEu": 1.5 / 2,
        }
    )
    assert found.users.tolist() == [2, 7]
    assert found.per_user["MSE"].tolist() == [0.0, 2.5]


@examples()
@given(rows=ROWS)
def test_against_plain_python(rows: list[tuple[float, float, int]]) -> None:
    predicted, actual, user = (np.array(column) for column in zip(*rows))
    found = rating_errors(predicted, actual, user)
    squares = [(p - a) ** 2 for p, a, _ in rows]
    sizes = [abs(p - a) for p, a, _ in rows]
    assert found.values["MSE"] == pytest.approx(fmean(squares))
    assert found.values["RMSE"] == pytest.approx(math.sqrt(fmean(squares)))
    assert found.values["MAE"] == pytest.approx(fmean(sizes))
    for place, code in enumerate(found.users.tolist()):
        own = [(p - a) ** 2 for p, a, u in rows if u == code]
        assert found.per_user["RMSE"][place] == pytest.approx(math.sqrt(fmean(own)))
    assert found.values["RMSEu"] == pytest.approx(fmean(found.per_user["RMSE"].tolist()))
    assert found.values["MAE"] <= found.values["RMSE"] + 1e-12


def test_without_users_there_are_no_values_per_user() -> None:
    found = rating_errors(np.array([1.0]), np.array([2.0]))
    assert found.values == {"RMSE": 1.0, "MSE": 1.0, "MAE": 1.0}
    assert not found.per_user


@pytest.mark.parametrize(
    ("predicted", "actual", "message"),
    [([1.0], [1.0, 2.0], "equally long"), ([], [], "not empty"), ([np.nan], [1.0], "finite")],
)
def test_wrong_columns_are_refused(predicted: list[float], actual: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        rating_errors(np.array(predicted), np.array(actual))
