"""The words of a verdict, at their borders."""

import math

import pytest

from murmura.evaluation.significance import Interval
from murmura.lab.papers.numbers import Better, difference, verdict


@pytest.mark.parametrize(
    ("printed", "ours", "better", "word"),
    [
        (0.103, Interval(0.100), "higher", "reproduced"),  # within 3 % of ours
        (0.1031, Interval(0.100), "higher", "not reached"),
        (0.0969, Interval(0.100), "higher", "above print"),
        (0.104, Interval(0.100, 0.095, 0.105), "higher", "reproduced"),  # in an interval of ± 5 %
        (0.104, Interval(0.100, 0.0949, 0.1051), "higher", "not reached"),  # which is wider
        (0.106, Interval(0.100, 0.095, 0.105), "higher", "not reached"),  # outside
        (0.100, Interval(0.1900, 0.01, 0.37), "higher", "above print"),  # too wide to say anything
        (-0.104, Interval(-0.100, -0.105, -0.095), "zero", "reproduced"),
        (0.90, Interval(0.80), "lower", "above print"),  # an error
        (0.90, Interval(1.00), "lower", "not reached"),
        (-0.30, Interval(0.10), "zero", "above print"),  # a bias disparity
        (-0.30, Interval(0.50), "zero", "not reached"),
        (1.30, Interval(1.10), "same", "not reached"),  # a fact of the data
        (1.10, Interval(1.30), "same", "not reached"),
        (0.0, Interval(0.0), "higher", "reproduced"),
        (None, Interval(0.5), "higher", ""),
        (0.5, Interval(math.nan), "higher", "not run"),
    ],
)
def test_words(printed: float | None, ours: Interval, better: Better, word: str) -> None:
    assert verdict(printed, ours, 3, better) == word


def test_two_seeds_excuse_nothing() -> None:
    ours = Interval(0.100, 0.095, 0.105)
    assert [verdict(0.104, ours, seeds, "higher") for seeds in (2, 3)] == ["not reached", "reproduced"]


def test_a_doubted_number_is_neither_reached_nor_missed() -> None:
    assert verdict(0.1, Interval(0.1), 3, "higher", doubted=True) == "printed number doubtful"


def test_difference_is_of_the_printed_value() -> None:
    assert difference(-0.2, -0.1) == pytest.approx(0.5)
    assert difference(0.0, 1.0) is None
    assert difference(None, 1.0) is None
