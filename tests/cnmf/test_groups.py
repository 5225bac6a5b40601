"""Groups: random, from columns, from a file."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.arrays import Longs
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Vocabulary
from murmura.data.user_tables import ALONE, ClientGroups, groups_of_file, random_groups

PEOPLE = Vocabulary(np.array(["ann", "ben", "cid", "dee"]))


def sizes_of(groups: ClientGroups) -> Longs:
    """How many members each group has."""
    return np.bincount(groups.of, minlength=len(groups))


@given(st.integers(3, 400), st.integers(0, 2**32))
def test_random_groups_hold_everyone_once(n: int, seed: int) -> None:
    groups = random_groups(n, seed)
    sizes = sizes_of(groups)
    assert sizes.sum() == n
    assert sizes.min() >= 3
    assert sizes[:-1].max(initial=3) <= 30
    assert sizes[-1] <= 32  # at most two who would have been too few
    assert len(groups.of) == n
    assert set(groups.of.tolist()) == set(range(len(groups)))  # nobody stands alone


def test_sizes_are_uniform_and_the_seed_decides() -> None:
    sizes = np.concatenate([sizes_of(random_groups(3000, seed))[:-1] for seed in range(20)])
    # 3 to 30: mean 16.5, variance (28^2 - 1) / 12
    assert abs(sizes.mean() - 16.5) < 4 * np.sqrt(783 / 12 / len(sizes))
    assert set(sizes) == set(range(3, 31))
    assert np.array_equal(random_groups(610, 7).of, random_groups(610, 7).of)
    assert not np.array_equal(random_groups(610, 7).of, random_groups(610, 8).of)


def test_groups_that_cannot_be() -> None:
    with pytest.raises(DataError, match="groups of 3 or more need as many users, but there are 2"):
        random_groups(2, 0)
    with pytest.raises(SettingError, match="the sizes of groups must go upwards, but go from 5 to 4"):
        random_groups(10, 0, smallest=5, largest=4)


def test_from_columns(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text("user,group\nben,b\nann,a\nben,b\neve,a\ndee,\n")
    groups = groups_of_file(path, PEOPLE)
    assert groups.labels == ("a", "b")
    assert groups.of.tolist() == [0, 1, ALONE, ALONE]
    assert np.flatnonzero(groups.of == ALONE).tolist() == [2, 3]
    path.write_text("user,group\nann,a\nann,b\n")
    with pytest.raises(DataError, match="user 'ann' is in 'a' and 'b'; keep one"):
        groups_of_file(path, PEOPLE)
    path.write_text("user,group\neve,a\n")
    with pytest.raises(DataError, match="at least one known user must be in a group"):
        groups_of_file(path, PEOPLE)


def test_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "households.csv"
    path.write_text('who,house,city\nann,"1, North",x\ncid,2,y\nben,"1, North",x\n')
    groups = groups_of_file(path, PEOPLE, user="who", group="house")
    assert groups.labels == ("1, North", "2")
    assert groups.of.tolist() == [0, 0, 1, ALONE]
    path.write_text("who\thouse\n12\tx\n7\tx\n")
    assert groups_of_file(path, Vocabulary(np.array([7, 12, 30])), "who", "house").of.tolist() == [0, 0, ALONE]
    with pytest.raises(DataError, match="must have a column 'group', but has who, house; name yours"):
        groups_of_file(path, PEOPLE, user="who")
    path.write_text("user,group\nann\n")
    with pytest.raises(DataError, match="line 2: a row must have 2 fields, but has 1; fix it"):
        groups_of_file(path, PEOPLE)
    path.write_text("user,group\n")
    with pytest.raises(DataError, match="at least one known user must be in a group"):
        groups_of_file(path, PEOPLE)
