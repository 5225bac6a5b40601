"""Made-up data: exact sizes, planted structure, the same again; and the board whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.errors import SettingError
from murmura.data.sources.registry import load
from murmura.data.sources.synthetic import checkerboard, synth
from murmura.data.splits.temporal import LeaveOneOut
from tests.hypothesis_profiles import examples


def own_share(taste: float, groups: int = 8) -> float:
    """The share of rows that serve their user's planted taste: the commonest taste among her rows."""
    made = synth(users=400, items=800, interactions=2_400, taste=taste, groups=groups, skew=0.3, seed=3)
    data, tastes = made.interactions, made.catalogue.categories
    assert tastes is not None
    counts = np.zeros((data.n_users, groups))
    np.add.at(counts, (data.user, tastes.label[data.item]), 1)
    return float(counts.max(axis=1).sum() / len(data))


@examples(0.4)
@given(
    users=st.integers(1, 60),
    items=st.integers(4, 60),
    fill=st.floats(0, 1),
    seed=st.integers(0, 9),
    data=st.data(),
)
def test_sizes_are_exact_and_pairs_distinct(
    users: int, items: int, fill: float, seed: int, data: st.DataObject
) -> None:
    most = users * (items // 2)
    rows = users + int(fill * (most - users))
    groups = data.draw(st.integers(1, min(items, 9)))
    skew, taste = data.draw(st.sampled_from([0.0, 0.8, 3.0])), data.draw(st.sampled_from([0.0, 0.7, 1.0]))
    made = synth(users, items, rows, skew, groups, taste, seed).interactions
    assert (len(made), made.n_users, made.n_items) == (rows, users, items)
    pairs = made.user.astype(np.int64) * items + made.item
    assert (np.diff(pairs) > 0).all()
    assert made.user_counts.min() >= 1
    assert made.user_counts.max() <= max(1, items // 2)
    assert set(made.value.tolist()) <= {1.0, 2.0, 3.0, 4.0, 5.0}


def test_it_is_deterministic_and_the_seed_matters() -> None:
    one, same, other = (synth(seed=seed).interactions.fingerprint for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_skew_makes_few_items_popular() -> None:
    def top_tenth(skew: float) -> float:
        counts = np.sort(synth(skew=skew, taste=0.0, seed=5).interactions.item_counts)[::-1]
        return float(counts[:50].sum() / counts.sum())

    # without skew an item has 40 rows, give or take 6.3: its best tenth can hold 1.3 tenths at most
    assert top_tenth(0.0) < 0.14
    assert top_tenth(0.0) < top_tenth(0.5) < top_tenth(1.0)
    assert top_tenth(1.0) > 0.4


def test_taste_is_planted() -> None:
    assert own_share(taste=1.0) == 1.0
    assert own_share(taste=0.6) > 0.55
    assert own_share(taste=0.0) < 0.5


def test_the_own_taste_is_rated_higher() -> None:
    made = synth(taste=0.5, seed=2)
    data, tastes = made.interactions, made.catalogue.categories
    assert tastes is not None
    counts = np.zeros((data.n_users, 8))
    np.add.at(counts, (data.user, tastes.label[data.item]), 1)
    own = counts.argmax(axis=1)[data.user] == tastes.label[data.item]
    assert data.value[own].mean() > data.value[~own].mean() + 0.5


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(SettingError, match=r"synth.interactions must be between 10 \(one per user\) and 50"):
        synth(users=10, items=10, interactions=51)
    with pytest.raises(SettingError, match="must be between"):
        synth(users=10, items=10, interactions=9)
    with pytest.raises(SettingError, match=r"synth.groups must be at most the 10 items, but is 11"):
        synth(users=10, items=10, interactions=20, groups=11)
    with pytest.raises(SettingError, match="taste"):
        synth(taste=1.5)


@pytest.mark.parametrize(("users", "items"), [(12, 10), (8, 6), (31, 9)])
def test_the_checkerboard_withholds_the_one_item_left_of_the_colour(users: int, items: int) -> None:
    split = checkerboard(users, items)
    assert len(split.test) == users
    for user, item in zip(split.test.user.tolist(), split.test.item.tolist()):
        seen = set(split.train.by_user.of(user).tolist())
        colour = set(range(user % 2, items, 2))
        assert colour - seen == {item}
        assert seen < colour
    assert (LeaveOneOut().apply(split.data).part == split.part).all()
    assert (split.train.item_counts >= 2).all()


def test_made_up_data_has_names() -> None:
    assert load("checkerboard").interactions.n_users == 12
    assert len(load("synth").interactions) == 20_000
