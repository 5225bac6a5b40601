"""What counts as a like: by a threshold, by the latest row of a pair; and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.data.repeats import is_latest, liked, merge_duplicates
from murmura.data.sources.registry import load
from murmura.engine.prepared import prepare, whole_split
from murmura.engine.protocol import protocol
from tests.hypothesis_profiles import examples

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-2, 5), st.integers(0, 4)), min_size=1
)


def interactions(rows: list[tuple[int, int, int, int]]) -> Interactions:
    user, item, value, time = (np.array(column) for column in zip(*rows))
    return Interactions.of(user, item, value.astype(float), time)


def latest(rows: list[tuple[int, int, int, int]]) -> dict[tuple[int, int], int]:
    """The row of each pair that comes last, of equal times the later one."""
    found: dict[tuple[int, int], int] = {}
    for row, (user, item, _, time) in enumerate(rows):
        if (user, item) not in found or time >= rows[found[user, item]][3]:
            found[user, item] = row
    return found


@examples(1)
@given(rows=ROWS, least=st.integers(-1, 5))
def test_likes_and_repeats_as_a_plain_loop_has_them(rows: list[tuple[int, int, int, int]], least: int) -> None:
    data, last = interactions(rows), latest(rows)
    likes = [value >= least and rows[last[user, item]][2] >= least for user, item, value, _ in rows]
    assert liked(data, least).tolist() == likes
    assert is_latest(data).sum() == len(last)
    order = sorted(last.values())
    assert merge_duplicates(data, "latest").value.tolist() == [rows[row][2] for row in order]
    sums = [sum(v for u, i, v, _ in rows if (u, i) == rows[row][:2]) for row in order]
    assert merge_duplicates(data, "sum").value.tolist() == sums
    assert merge_duplicates(data, "keep") is data


def with_values(low: int, positive_from: float | None = None) -> Dataset:
    made = load("synth")
    rows = made.interactions
    value = np.where(rows.item % 4 == 0, low, rows.value)
    return replace(made, interactions=replace(rows, value=value), positive_from=positive_from)


def test_a_threshold_decides_in_training_and_as_relevant() -> None:
    data = with_values(1, 4)
    split = whole_split(data, protocol("default", data))
    pairs = set(zip(data.interactions.user.tolist(), data.interactions.item.tolist()))
    low = data.interactions.rows(data.interactions.value < 4)
    ids = split.data.users.labels[split.data.user], split.data.items.labels[split.data.item]
    assert not set(zip(*(column.tolist() for column in ids))) & set(zip(low.user.tolist(), low.item.tolist()))
    assert len(split.data) < len(pairs)
    assert protocol("kgflex", data).relevant_from == 4
    assert protocol("kgflex", with_values(1)).relevant_from == 3


@pytest.mark.parametrize(
    ("data", "rules", "sentence"),
    [
        (
            with_values(1),
            "default",
            "every row is a like, whatever its value (1 to 5; --positive-from sets a threshold)",
        ),
        (with_values(-1), "default", "values above 0 are likes, as some are negative: "),
        (with_values(1, 4), "default", "values ≥ 4 are likes: "),
        (with_values(3, 3), "kgflex", "values ≥ 3 are likes: "),
        (with_values(1), "kgflex", "values are kept (1 to 5); a held-out row of at least 3 is relevant"),
        (with_values(-1), "ratings", "values are predicted as they are (-1 to 5)"),
        (load("checkerboard"), "default", "every row is a like"),
    ],
)
def test_what_was_made_of_the_values_is_said(data: Dataset, rules: str, sentence: str) -> None:
    ready = prepare(data, protocol(rules, data))
    assert ready.values.startswith(sentence)
    assert ready.describe()["values"] == ready.values


def test_the_share_is_that_of_the_rows() -> None:
    rows = Interactions.of(np.arange(40) // 8, np.arange(40) % 8, np.where(np.arange(40) % 8 < 6, 5.0, 1.0))
    data = Dataset("mine", rows, Catalogue(rows.items), positive_from=3)
    assert prepare(data, protocol("default", data)).values == "values ≥ 3 are likes: 75 % of the rows"


def test_a_threshold_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(DataError, match=r"must have a value of at least 9 .* but the largest is 5; lower it"):
        prepare(with_values(1, 9), protocol("default", with_values(1)))
    with pytest.raises(
        SettingError, match="must be left out for protocol 'ratings', which takes values as they are"
    ):
        prepare(with_values(1, 4), protocol("ratings", with_values(1)))


def test_repeats_obey_every_protocol() -> None:
    made = load("synth")
    rows = made.interactions
    twice = rows.rows(np.concatenate((np.arange(len(rows)), np.arange(len(rows)))))
    again = replace(made, interactions=twice)
    for rules in ("default", "kgflex", "ratings"):
        once = prepare(made, protocol(rules, made)).split.train
        assert len(prepare(again, protocol(rules, again)).split.train) == len(once)
