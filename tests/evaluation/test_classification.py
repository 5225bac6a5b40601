"""Accuracies against plain loops, and the corners: targets are strict, weights are sizes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.errors import DataError
from murmura.evaluation.registry import better, has_no_cutoff, is_of_labels
from murmura.lab.classification.classified_samples import accuracies, confusion
from tests.hypothesis_profiles import examples

Answer = tuple[int, int, int]  # user, label, answer


@examples()
@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_against_plain_loops(rows: list[Answer]) -> None:
    user, actual, predicted = (np.array(column) for column in zip(*rows))
    found = accuracies(predicted, actual, user.astype(np.int32))
    own = {
        u: [label == answer for one, label, answer in rows if one == u]
        for u in sorted({row[0] for row in rows})
    }
    each = {u: sum(right) / len(right) for u, right in own.items()}
    weighted = sum(each[u] * len(own[u]) for u in own) / len(rows)
    assert found.values["accuracy"] == pytest.approx(weighted)
    assert found.values["accuracy/clients"] == pytest.approx(sum(each.values()) / len(each))
    assert found.users.tolist() == list(own)
    assert found.per_user["accuracy"].tolist() == pytest.approx(list(each.values()))
    for target in (0.7, 0.8, 0.9):
        above = sum(value > target for value in each.values()) / len(each)
        assert found.values[f"clients/{round(100 * target)}"] == pytest.approx(above)
    table = confusion(predicted, actual, 4)
    assert all(table[a, p] == sum(row[1:] == (a, p) for row in rows) for a in range(4) for p in range(4))


@pytest.mark.parametrize("size", [10, 100, 1000])
def test_a_target_is_not_reached_by_meeting_it(size: int) -> None:
    for target in (0.7, 0.8, 0.9):
        for more in (0, 1):
            right = np.arange(size) < round(target * size) + more
            found = accuracies(right.astype(float), np.ones(size), np.zeros(size, np.int32))
            assert found.values[f"clients/{round(100 * target)}"] == more


def test_all_of_them_are_metrics_where_more_is_better() -> None:
    values = accuracies(np.ones(3), np.ones(3), np.arange(3, dtype=np.int32)).values
    assert all(is_of_labels(key) and has_no_cutoff(key) and better(key) == "higher" for key in values)
    assert not any(map(is_of_labels, ("P@10", "RMSE", "kB up/client", "disclosed")))


def test_bad_columns_are_refused() -> None:
    with pytest.raises(DataError, match="equally many and some"):
        accuracies(np.ones(2), np.ones(3), np.zeros(3, np.int32))
    with pytest.raises(DataError, match="equally many and some"):
        accuracies(np.ones(0), np.ones(0), np.zeros(0, np.int32))
    for wrong in (np.nan, -1.0, 4.0, 0.5):
        with pytest.raises(DataError, match="labels from 0 to 3, but 1 are not"):
            confusion(np.array([1.0, wrong]), np.ones(2), 4)
