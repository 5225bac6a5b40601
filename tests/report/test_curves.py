"""Curves: what runs along, and how many points are kept."""

import numpy as np
import pytest

from murmura.engine.run_folder import RoundTable
from murmura.report.sections.traffic import MOST, curve


def test_the_first_column_that_only_grows_runs_along() -> None:
    lines = np.array([[1, 10, 5.0], [1, 20, 4.0], [2, 30, 3.0]])
    found = curve(RoundTable(("epoch", "rounds", "loss"), lines), "loss")
    assert found is not None
    assert found[0] == "rounds"
    assert found[1].tolist() == [10, 20, 30]
    assert found[2].tolist() == [5, 4, 3]


def test_without_such_a_column_lines_are_numbered() -> None:
    found = curve(RoundTable(("loss",), np.array([[3.0], [2.0]])), "loss")
    assert found is not None
    assert (found[0], found[1].tolist()) == ("line", [1, 2])


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    n = 10 * MOST
    lines = np.stack([np.arange(n), np.linspace(1, 0, n)], axis=1)
    lines[7, 1] = np.nan
    found = curve(RoundTable(("round", "loss"), lines), "loss")
    assert found is not None
    assert len(found[1]) == MOST
    assert (found[1][0], found[1][-1]) == (0, n - 1)
    assert not np.isnan(found[2]).any()


@pytest.mark.parametrize(
    "rounds", [None, RoundTable(("epoch",), np.ones((2, 1))), RoundTable(("loss",), np.full((2, 1), np.nan))]
)
def test_no_values_no_curve(rounds: RoundTable | None) -> None:
    assert curve(rounds, "loss") is None
