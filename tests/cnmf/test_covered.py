"""The split of rating prediction: a share of all rows, everyone and everything known in training."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.interactions import Interactions
from murmura.data.splits.random_holdout import CoveredRandomHoldout


def world(n: int, m: int, rows: int, seed: int) -> Interactions:
    rng = np.random.default_rng(seed)
    pairs = rng.choice(n * m, min(rows, n * m), replace=False)
    return Interactions.of(pairs // m, pairs % m)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 80), st.integers(0, 1000), st.floats(0, 0.95))
def test_everyone_and_everything_keeps_a_training_row(
    n: int, m: int, rows: int, seed: int, share: float
) -> None:
    data = world(n, m, rows, seed)
    split = CoveredRandomHoldout(test=share, validation=0.3, seed=seed).apply(data)
    for rows_of in (split.train, data.rows(split.part == 0)):
        assert rows_of.user_counts.min() > 0
        assert rows_of.item_counts.min() > 0
    assert len(split.test) <= share * len(data) + 1e-6


def test_the_share_is_exact_where_it_can_be() -> None:
    split = CoveredRandomHoldout(seed=3).apply(world(50, 40, 1500, 1))
    assert len(split.test) == 300
    again = CoveredRandomHoldout(seed=3, validation=0.5).apply(world(50, 40, 1500, 1))
    assert np.array_equal(again.test.user, split.test.user)  # a validation part changes no test part
    assert not np.array_equal(CoveredRandomHoldout(seed=4).apply(world(50, 40, 1500, 1)).part, split.part)


def test_both_ways_to_draw_agree() -> None:
    """Where nobody is left bare the shortcut is taken; the visit, written here once more, finds the same."""
    data = world(30, 20, 400, 5)
    held = CoveredRandomHoldout(seed=9).apply(data).part == 2
    users, items = data.user_counts.copy(), data.item_counts.copy()
    expected = np.zeros(len(data), bool)
    for row in np.random.default_rng([9, 0]).permutation(len(data)):
        if expected.sum() < 80 and users[data.user[row]] > 1 and items[data.item[row]] > 1:
            users[data.user[row]] -= 1
            items[data.item[row]] -= 1
            expected[row] = True
    assert np.array_equal(held, expected)
