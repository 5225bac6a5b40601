"""The words of a verdict, at their borders."""

import math

import pytest

from murmura.report.tables.reproduction import difference, verdict

NONE = (math.nan, math.nan)


@pytest.mark.parametrize(
    ("printed", "ours", "interval", "better", "word"),
    [
        (0.100, 0.095, NONE, "higher", "reproduced"),
        (0.100, 0.0949, NONE, "higher", "not reached"),
        (0.100, 0.1051, NONE, "higher", "better"),
        (0.100, 0.0949, (0.08, 0.11), "higher", "reproduced"),  # the print lies in our interval
        (0.100, 0.1900, (0.01, 0.37), "higher", "better"),  # which is too wide to say anything
        (0.90, 0.80, NONE, "lower", "better"),  # an error
        (0.90, 1.00, NONE, "lower", "not reached"),
        (-0.30, 0.10, NONE, "zero", "better"),  # a bias disparity
        (-0.30, 0.50, NONE, "zero", "not reached"),
        (1.30, 1.10, NONE, "same", "not reached"),  # a fact of the data
        (1.10, 1.30, NONE, "same", "not reached"),
        (None, 0.5, NONE, "higher", ""),
        (0.5, math.nan, NONE, "higher", "not run"),
    ],
)
def test_words(
    printed: float | None, ours: float, interval: tuple[float, float], better: str, word: str
) -> None:
    assert verdict(printed, ours, interval, better, 0.05).word == word  # type: ignore[arg-type]


def test_a_doubted_number_is_neither_reached_nor_missed() -> None:
    found = verdict(0.1, 0.1, NONE, "higher", 0.05, "another split")
    assert (found.word, found.reason) == ("printed number doubtful", "another split")


def test_difference_is_of_the_printed_value() -> None:
    assert difference(-0.2, -0.1) == pytest.approx(0.5)
    assert difference(0.0, 1.0) is None
    assert difference(None, 1.0) is None
