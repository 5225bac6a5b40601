"""SASRec as a baseline: what it learns from order, equal times, no times, and settings it refuses."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-neural installs it")

from murmura.baselines.ease import Ease
from murmura.core.catalogue import Split
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, server_secret
from murmura.data.splits.temporal import DAY, cut_to_days
from murmura.lab.neural.histories import Sequences, windows
from murmura.lab.neural.multvae import MultVae
from murmura.lab.neural.sasrec import SasRec
from tests.neural.drawn import drawn_as_chance_says
from tests.neural.quick import QUICK

ITEMS, TOGETHER = 12, 6


def made(**changes: Any) -> SasRec:
    return SasRec(**{**QUICK["sasrec"], **changes})


def circle(copies: int = 5) -> Interactions:
    """Item i + 1 always follows i, and 0 the last; everybody has six in a row, from each beginning alike."""
    begin = np.arange(copies * ITEMS) % ITEMS
    item = (begin[:, None] + np.arange(TOGETHER)) % ITEMS
    time = np.broadcast_to(np.arange(TOGETHER) * DAY, item.shape)
    user = np.repeat(np.arange(len(begin)), TOGETHER)
    shuffled = np.random.default_rng(2).permutation(item.size)  # rows in no order: times alone tell it
    return Interactions.of(user[shuffled], item.ravel()[shuffled], time=time.ravel()[shuffled])


def successors(data: Interactions) -> list[int]:
    return [(user % ITEMS + TOGETHER) % ITEMS for user in range(data.n_users)]


def first_items(method: Any, data: Interactions) -> list[int]:
    found: list[int] = method.fit(data).recommend(np.arange(data.n_users), 1).item[:, 0].tolist()
    return found


def test_what_always_follows_comes_first_and_a_bag_of_items_cannot_tell() -> None:
    data = circle()
    assert first_items(made(), data) == successors(data)
    # six in a row on a circle look alike from both ends: before the first or after the last
    for other in (Ease(reg=1.0), MultVae(**QUICK["multvae"])):
        assert first_items(other, data) != successors(data)


def test_turned_times_turn_the_answer() -> None:
    data = circle()
    assert data.time is not None
    before = [(user % ITEMS - 1) % ITEMS for user in range(data.n_users)]
    assert first_items(made(), replace(data, time=-data.time)) == before


def test_only_the_newest_items_are_read() -> None:
    data = circle()
    assert first_items(made(length=2), data) == successors(data)


def test_a_stranger_with_times_is_answered_like_the_person_who_has_them() -> None:
    """Without times the same items are read in another order, whatever theirs was."""
    data = circle()
    assert data.time is not None
    model, alike = made(length=4).fit(data), 0
    for user in range(ITEMS):
        rows = np.flatnonzero(data.user == user)
        item, time = data.item[rows], data.time[rows]
        (expected,) = model.score(np.array([user], np.int32))
        again = np.append(item, item[0]), np.append(time, time.min() - DAY)  # an earlier row of a pair
        for items, times in ((item, time), again):
            np.testing.assert_array_equal(model.score_timed_history(items, times), expected)
        listed = model.recommend_history(item, 3, time).item[0]
        assert listed.tolist() == model.recommend(np.array([user], np.int32), 3).item[0].tolist()
        alike += np.array_equal(model.score_history(item), expected)
    assert alike < ITEMS / 2


def sequences(time: list[int], user: list[int] | None = None) -> Sequences:
    n = len(time)
    who = np.zeros(n, np.int64) if user is None else np.array(user)
    return Sequences.of(Interactions.of(who, np.arange(n), time=np.array(time)))


def test_items_come_in_the_order_of_their_times() -> None:
    found = sequences([5, 1, 9, 3, 2], [0, 0, 0, 1, 1])
    assert found.ordered(Rng(np.zeros(2, np.uint32))).tolist() == [1, 0, 2, 4, 3]


def test_of_several_rows_of_a_pair_the_newest_counts() -> None:
    data = Interactions.of(np.zeros(4, np.int64), np.array([0, 1, 2, 0]), time=np.array([1, 2, 3, 4]))
    assert Sequences.of(data).ordered(Rng(np.zeros(2, np.uint32))).tolist() == [1, 2, 0]


def test_equal_times_are_shuffled_by_seed_and_epoch_and_all_orders_are_alike() -> None:
    alike = sequences([7, 7, 7, 9])
    n = 3_000
    drawn = [tuple(alike.ordered(Rng(server_secret(3), epoch)).tolist()) for epoch in range(n)]
    orders, counts = np.unique(np.array(drawn), axis=0, return_counts=True)
    assert len(orders) == 6
    assert set(orders[:, 3].tolist()) == {3}
    assert max(abs(counts - n / 6)) < 5 * np.sqrt(n * 5 / 36)
    assert drawn[0] == tuple(alike.ordered(Rng(server_secret(3), 0)).tolist())


def test_two_people_with_equal_items_and_times_are_not_shuffled_alike() -> None:
    """A common order would be one to learn, and what comes last in it would seem to come next."""
    people, own = 50, 8
    user, item = np.divmod(np.arange(people * own), own)
    data = Interactions.of(user, item, time=np.zeros(len(user), np.int64))
    found = Sequences.of(data).ordered(Rng(np.zeros(2, np.uint32))).reshape(people, own)
    assert len(np.unique(found, axis=0)) > 45


def test_order_inside_a_day_does_not_matter_where_days_are_all_that_is_seen() -> None:
    data = circle()
    assert data.time is not None
    part = np.zeros(len(data), np.uint8)
    users = np.arange(data.n_users, dtype=np.int32)
    days = data.time // DAY // 3  # three items a day
    scores = []
    for hour in (data.time // DAY, -(data.time // DAY)):
        hidden = cut_to_days(Split("all", replace(data, time=days * DAY + hour % 24), part)).data
        scores.append(made(epochs=3).fit(hidden).score(users))
    assert (scores[0] == scores[1]).all()


def test_data_without_times_is_refused_in_one_sentence() -> None:
    without = replace(circle(), time=None)
    for refuse in (lambda: made().fit(without), lambda: made().check(without, 0)):
        with pytest.raises(DataError, match=r"^sasrec needs a time for every row, but this data has none; "):
            refuse()


def test_everybody_at_one_time_is_learned_from() -> None:
    data = circle()
    flat = replace(data, time=np.zeros(len(data), np.int64))
    assert np.isfinite(made(epochs=2).fit(flat).score(np.arange(data.n_users, dtype=np.int32))).all()


def test_people_with_one_item_each_are_answered() -> None:
    data = Interactions.of(np.arange(3), np.arange(3), time=np.arange(3))
    assert np.isfinite(made(epochs=2).fit(data).score(np.arange(3, dtype=np.int32))).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"heads": 3}, "sasrec.heads must divide dim, but 3 does not divide 16; change one."),
        ({"length": 0}, "sasrec.length: input should be greater than or equal to 1, but it is 0."),
        ({"dropout": 1.0}, "sasrec.dropout: input should be less than 1, but it is 1.0."),
        ({"negatives": 0}, "sasrec.negatives: input should be greater than or equal to 1, but it is 0."),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        made(**changes)
    assert str(refused.value) == sentence


def test_what_would_not_fit_is_refused_before_it_is_made() -> None:
    # 10^7 x 8 places with 1 + 12 scores each, four tables of 4 bytes: 16.64 GB
    with pytest.raises(
        SettingError, match=r"^sasrec.memory_gb must be at least 16\.7 for 12 items and .* is 4;"
    ):
        made(batch=10**7).fit(circle())


def test_heads_survive_saving(tmp_path: Any) -> None:
    data, method = circle(), made(heads=4, epochs=2)
    model = method.fit(data)
    method.save(tmp_path / "model.npz", model)
    users = np.arange(data.n_users, dtype=np.int32)
    assert (method.load(tmp_path / "model.npz", data).score(users) == model.score(users)).all()


def test_windows_are_padded_at_their_end() -> None:
    found = windows(np.array([4, 5, 6, 7]), np.array([0, 3, 2]), np.array([3, 4, 2]))
    assert found.column.tolist() == [[4, 5, 6], [7, 0, 0], [0, 0, 0]]
    assert found.size.tolist() == [3, 1, 1]


def test_held_out_items_are_drawn_as_chance_says() -> None:
    drawn_as_chance_says(made())
