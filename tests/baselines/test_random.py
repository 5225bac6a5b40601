"""Random lists: each unseen item equally likely at each place, users independent of each other."""

import numpy as np

from murmura.baselines.unpersonalised import Random
from murmura.core.interactions import Interactions


def test_every_unseen_item_is_equally_likely_at_every_place() -> None:
    users, items = 4000, 12
    own = np.arange(users) % items  # everyone has one item
    model = Random().fit(Interactions.of(np.arange(users), own), seed=8)
    lists = model.recommend(np.arange(users, dtype=np.int32), items - 1).item
    assert (np.sort(lists, axis=1) == [[i for i in range(items) if i != mine] for mine in own]).all()
    for place in range(items - 1):
        # an item is unseen by 11 of 12 users, each of whom lists it here with probability 1 / 11
        counts = np.bincount(lists[:, place], minlength=items)
        expected = users / items
        assert np.abs(counts - expected).max() < 4 * np.sqrt(expected)


def test_a_users_list_depends_on_the_seed_and_the_user_alone() -> None:
    few = Interactions.of(np.array([0, 1, 2]), np.array([0, 1, 9]))
    more = Interactions.of(np.array([0, 1, 2, 3, 4]), np.array([0, 1, 9, 0, 1]))
    first, second = Random().fit(few, seed=3), Random().fit(more, seed=3)
    assert np.array_equal(first.score(np.arange(3, dtype=np.int32)), second.score(np.arange(3, dtype=np.int32)))
    other = Random().fit(few, seed=4)
    assert not np.array_equal(first.score(np.zeros(1, np.int32)), other.score(np.zeros(1, np.int32)))
