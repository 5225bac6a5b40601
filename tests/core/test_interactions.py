"""Own ids in, the same ids out; nothing can be changed behind the owner's back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, Vocabulary

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
ids = st.one_of(st.lists(st.integers(-(2**62), 2**62), min_size=1), st.lists(words, min_size=1))


def small() -> Interactions:
    return Interactions.of(
        np.array(["bo", "al", "bo", "cy"]),
        np.array([30, 7, 7, 30]),
        np.array([1.0, 2.0, 3.0, 4.0]),
        np.array([5, 6, 7, 8]),
    )


@given(ids)
def test_every_id_comes_back_as_it_was(own: list[int] | list[str]) -> None:
    vocabulary, codes = Vocabulary.of(np.array(own))
    assert vocabulary.labels[codes].tolist() == own
    assert vocabulary.find(own).tolist() == codes.tolist()
    assert vocabulary.labels.tolist() == sorted(set(own))  # type: ignore[type-var]


def test_an_unknown_id_is_named() -> None:
    with pytest.raises(DataError, match="user 'dora' is not among the 3 known ones"):
        small().users.index(["al", "dora"], "user")
    assert small().users.find(["al", "dora"]).tolist() == [0, -1]
    assert small().items.find(["7", "x", 30]).tolist() == [0, -1, 1]


def test_columns_cannot_be_written() -> None:
    data = small()
    for column in (data.user, data.item, data.value, data.users.labels, data.by_user.index, data.item_counts):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_the_callers_array_stays_writable() -> None:
    mine = np.array([1.0, 2.0])
    Interactions.of(np.array([1, 2]), np.array([1, 2]), mine)
    mine[0] = 9.0


def test_rows_by_user_and_by_item() -> None:
    data = small()
    assert data.by_user.of(1).tolist() == [0, 1]  # bo: items 7 and 30
    assert data.by_item.of(0).tolist() == [0, 1]  # item 7: al and bo
    assert data.by_user.value.tolist() == [2.0, 3.0, 1.0, 4.0]
    assert data.user_counts.tolist() == [1, 2, 1]


def test_compact_forgets_who_has_no_row() -> None:
    data = small().rows(np.array([True, False, True, False])).compact()
    assert data.users.labels.tolist() == ["bo"]
    assert data.items.labels.tolist() == [7, 30]
    assert data.items.labels[data.item].tolist() == [30, 7]


def test_the_fingerprint_sees_every_change() -> None:
    data = small()
    same = small()
    assert data.fingerprint == same.fingerprint
    others = [
        data.rows(np.array([1, 0, 2, 3])),
        Interactions(data.users, data.items, data.user, data.item, data.value + 1, data.time),
        Interactions(data.users, data.items, data.user, data.item, data.value, None),
        Interactions(
            Vocabulary(np.array(["al", "bo", "cz"])), data.items, data.user, data.item, data.value, data.time
        ),
    ]
    assert len({data.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(DataError, match="equally long"):
        Interactions.of(np.array([1, 2]), np.array([1, 2]), np.array([1.0]))
