"""Filters against plain Python."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.errors import DataError, SettingError
from murmura.core.settings import as_dict
from murmura.data.filters import (
    FILTERS,
    Binarise,
    KCore,
    LatestPerPair,
    MinPerItem,
    MinPerUser,
    MinValue,
    apply_filters,
    filter_named,
)
from tests.data.histories import Row, histories, interactions, rows_of
from tests.hypothesis_profiles import examples

PROPERTY = examples()


@PROPERTY
@given(rows=histories(pairs_once=False))
def test_latest_per_pair(rows: list[Row]) -> None:
    latest: dict[tuple[int, int], Row] = {}
    for row in rows:
        if row[:2] not in latest or row[3] >= latest[row[:2]][3]:
            latest[row[:2]] = row
    assert rows_of(LatestPerPair().apply(interactions(rows))) == [latest[pair] for pair in sorted(latest)]


@PROPERTY
@given(rows=histories(), n=st.integers(1, 6))
def test_min_per_user_and_item(rows: list[Row], n: int) -> None:
    users, items = Counter(row[0] for row in rows), Counter(row[1] for row in rows)
    data = interactions(rows)
    assert rows_of(MinPerUser(rows=n).apply(data)) == [row for row in rows if users[row[0]] >= n]
    assert rows_of(MinPerItem(rows=n).apply(data)) == [row for row in rows if items[row[1]] >= n]


@PROPERTY
@given(rows=histories(), k=st.integers(1, 4))
def test_k_core(rows: list[Row], k: int) -> None:
    found = rows_of(KCore(k=k).apply(interactions(rows)))
    left = rows
    while True:
        users = Counter(row[0] for row in left)
        kept = [row for row in left if users[row[0]] >= k]
        items = Counter(row[1] for row in kept)
        kept = [row for row in kept if items[row[1]] >= k]
        if len(kept) == len(left):
            break
        left = kept
    assert found == left
    assert all(n >= k for n in Counter(row[0] for row in found).values())
    assert all(n >= k for n in Counter(row[1] for row in found).values())


@PROPERTY
@given(rows=histories(), value=st.sampled_from([0.0, 2.5, 2.6, 5.0]))
def test_min_value_and_binarise(rows: list[Row], value: float) -> None:
    data = interactions(rows)
    assert rows_of(MinValue(value=value).apply(data)) == [row for row in rows if row[2] >= value]
    assert rows_of(Binarise().apply(data)) == [(user, item, 1.0, time) for user, item, _, time in rows]


def test_apply_filters_takes_the_steps_in_order_and_drops_unused_ids() -> None:
    data = interactions([(1, 10, 5.0, 0), (1, 11, 1.0, 1), (2, 10, 5.0, 2), (2, 12, 4.0, 3)])
    first = apply_filters(data, [MinValue(value=4), MinPerUser(rows=2)])
    assert rows_of(first) == [(2, 10, 5.0, 2), (2, 12, 4.0, 3)]
    assert first.users.labels.tolist() == [2]
    assert first.items.labels.tolist() == [10, 12]
    other = apply_filters(data, [MinPerUser(rows=2), MinValue(value=4)])
    assert len(other) == 3


def test_filters_that_leave_nothing_are_an_error() -> None:
    with pytest.raises(DataError, match="the filters k-core must leave at least one row, but left none"):
        apply_filters(interactions([(1, 1, 1.0, 1)]), [KCore(k=2)])


def test_filters_by_name() -> None:
    assert filter_named("min-per-user") == MinPerUser(rows=20)
    assert filter_named("k-core", 5.0) == KCore(k=5)
    assert filter_named("min-value", 2.5) == MinValue(value=2.5)
    assert {
        as_dict(filter_named(name, 3 if field else None))["step"] for name, (_, field) in FILTERS.items()
    } == set(FILTERS)
    with pytest.raises(SettingError, match="there is no filter 'kcore'; it is one of latest-per-pair"):
        filter_named("kcore")
    with pytest.raises(SettingError, match="takes no number"):
        filter_named("binarise", 2)
    with pytest.raises(SettingError, match="k"):
        filter_named("k-core", 0.5)
