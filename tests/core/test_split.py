"""The test part cannot be reached from the selection."""

import numpy as np
import pytest

from murmura.core.catalogue import TEST, TRAIN, VALIDATION, Split
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions


def cut(*parts: int) -> Split:
    n = len(parts)
    data = Interactions.of(np.zeros(n, int), np.arange(n), np.ones(n))
    return Split("by hand", data, np.array(parts, np.uint8))


def test_the_training_part_includes_validation() -> None:
    split = cut(TRAIN, VALIDATION, TEST, TRAIN)
    assert split.train.item.tolist() == [0, 1, 3]
    assert split.test.item.tolist() == [2]


def test_selection_holds_no_test_row() -> None:
    selection = cut(TRAIN, VALIDATION, TEST, TRAIN).selection()
    assert selection.train.item.tolist() == [0, 3]
    assert selection.test.item.tolist() == [1]
    assert 2 not in selection.data.item


def test_selection_without_validation_says_what_to_do() -> None:
    with pytest.raises(DataError, match="give the split a validation share"):
        cut(TRAIN, TEST).selection()
