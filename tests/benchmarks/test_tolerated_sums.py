"""Malicious devices that keep every bound lift no more items than they may list; too few of them lift none."""

import numpy as np
import pytest
from benchmarks.tolerated_sums import lifted, read

from murmura.core.interactions import Interactions

COUNTS = np.array([1, 1, 0, 4, 8])


@pytest.mark.parametrize(
    ("liars", "cap", "found"),
    [(3, 9, [1, 1, 0, 5, 8]), (4, 1, [5, 1, 0, 4, 8]), (4, 2, [5, 5, 0, 4, 8]), (5, 2, [5, 5, 0, 5, 8])],
)
def test_each_item_needs_as_many_devices_as_it_lacks_owners(liars: int, cap: int, found: list[int]) -> None:
    assert lifted(COUNTS, 5, liars, cap).tolist() == found


def test_only_owners_are_read_once_their_item_takes_part() -> None:
    """Item 9 is had by person 0 alone; the others have everything else."""
    rows = [(person, item) for person in range(6) for item in range(person % 2, 8)] + [(0, 9)]
    data = Interactions.of(*np.array(rows).T)
    assert read(data, 5, 3, 10)[0] == 0
    assert read(data, 5, 4, 10)[0] == 1
