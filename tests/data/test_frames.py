"""Frames and sparse matrices, in and out."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from scipy.sparse import coo_array, csr_matrix

import murmura
from murmura.core.errors import DataError, SettingError
from murmura.data.frames import from_frame, from_sparse, to_frame, to_pandas, to_sparse

COLUMNS = {"who": ["b", "a", "b"], "product": [10, 10, 11], "stars": [4.0, 1.0, 5.0]}
WHEN = [datetime(2021, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
NAMES = {"user": "who", "item": "product", "value": "stars"}


def test_polars_goes_in_and_out() -> None:
    frame = pl.DataFrame({**COLUMNS, "when": WHEN})
    for given in (frame, frame.lazy(), {**COLUMNS, "when": WHEN}):
        data = from_frame(given, columns=NAMES, name="shop")
        assert data.name == "shop"
        back = to_frame(data)
        assert back.columns == ["user", "item", "value", "time"]
        assert back["user"].to_list() == COLUMNS["who"]
        assert back["time"].to_list() == [int(day.timestamp()) for day in WHEN]


def test_pandas_goes_in_and_out() -> None:
    pd = pytest.importorskip("pandas")
    times = pd.to_datetime(pd.Series(WHEN)).dt.tz_convert("Europe/Berlin")
    frame = pd.DataFrame({**COLUMNS, "when": times, "empty": [None, np.nan, "x"]})
    data = from_frame(frame, columns=NAMES, positive_from=4)
    assert data.positive_from == 4
    back = to_pandas(data)
    assert back["user"].tolist() == COLUMNS["who"]
    assert back["item"].tolist() == COLUMNS["product"]
    assert back["time"].tolist() == [int(day.timestamp()) for day in WHEN]
    gap = pd.DataFrame({"user": ["a", None, "b"], "item": [1, 2, np.nan]})
    with pytest.raises(DataError, match="frame, row 2: a row must be sound, but this has: empty user"):
        from_frame(gap)
    kept = from_frame(gap, skip_bad=True)
    assert (kept.interactions.items.labels.tolist(), kept.notes) == (
        [1],
        ("frame: left out 2 bad rows (empty user 1, empty item 1).",),
    )


def test_pandas_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SettingError, match="needs pandas, but it is not installed: pip install pandas"):
        to_pandas(from_frame(COLUMNS, columns=NAMES))


def test_texts_of_dates_in_a_frame_are_understood() -> None:
    data = from_frame({"user": [1, 2], "item": [1, 2], "date": ["30.04.2012", "01.05.2012"]})
    assert data.interactions.time is not None
    assert np.diff(data.interactions.time).tolist() == [86_400]
    assert "the day first" in data.notes[-1]


def test_sparse_goes_in_and_out() -> None:
    matrix = coo_array(([1.0, 2.0, 3.0, 0.0], ([0, 0, 2, 1], [1, 1, 0, 1])), shape=(3, 2))
    data = from_sparse(matrix, users=["x", "y", "a"], items=[20, 10])
    frame = to_frame(data).sort("user")
    assert frame.rows() == [("a", 20, 3.0), ("x", 10, 3.0)]  # entries of a place are added up, 0 is none
    assert to_sparse(data).toarray().tolist() == [[0.0, 3.0], [3.0, 0.0]]
    plain = from_sparse(csr_matrix(np.eye(3)))
    assert (to_sparse(plain).toarray() == np.eye(3)).all()
    with pytest.raises(SettingError, match="users must be 3 ids, each of them once, but there are 2 with 2"):
        from_sparse(matrix, users=[1, 2])
    with pytest.raises(DataError, match="must have an entry that is not 0"):
        from_sparse(csr_matrix((2, 2)))


def test_load_takes_them_too_and_refuses_the_rest() -> None:
    assert len(murmura.load(pl.DataFrame(COLUMNS), columns=NAMES).interactions) == 3
    assert len(murmura.load(csr_matrix(np.eye(4))).interactions) == 4
    with pytest.raises(
        SettingError, match="a frame must be one of polars or pandas, or columns by name, but it is a"
    ):
        murmura.load(3)
    with pytest.raises(
        DataError, match="which column is the user and which the item, but the columns are 'x', 'y'"
    ):
        murmura.load({"x": [1], "y": [2]})


def test_lists_come_out_as_a_frame() -> None:
    train = murmura.load("checkerboard").interactions
    model = murmura.fit("mostpop", train)
    lists = model.recommend(np.array([0, 3], np.int32), 2)
    frame = to_frame(lists, train)
    assert frame.columns == ["user", "rank", "item", "score"]
    ids = model.recommend_ids([0, 3], 2)
    assert {user: rows["item"].to_list() for (user,), rows in frame.group_by("user")} == ids
    assert frame["rank"].to_list() == [1, 2, 1, 2]
    with pytest.raises(SettingError, match="lists must come with the data they are of"):
        to_frame(lists)
