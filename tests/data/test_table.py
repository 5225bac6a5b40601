"""Tables of one's own: which column is which, ids as they were written, and back again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.data.sources.registry import load
from murmura.data.tables.interactions_file import write_table
from tests.hypothesis_profiles import examples


def table(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8", newline="")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "user,item,value,time\n1,10,2.5,100\n2,10,1,99\n"),
        ("t.tsv", "user_id\tmovieId\trating\ttimestamp\n1\t10\t2.5\t100\n2\t10\t1\t99\n"),
        ("t.txt", "userId;item_id;stars;utc\n1;10;2.5;100\n2;10;1;99\n"),
        ("t.dat", "uid::asin::score::date::more\n1::10::2.5::100::x\n2::10::1::99::\n"),
        ("t.csv", '"user","item","value","time"\r\n"1","10","2.5","100"\r\n"2","10","1","99"\r\n'),
        ("t.csv", "﻿time,value,item,user\n100,2.5,10,1\n99,1,10,2\n\n"),
    ],
    ids=["csv", "tsv", "semicolons", "colons", "quoted", "byte order mark"],
)
def test_usual_names_and_separators(tmp_path: Path, name: str, text: str) -> None:
    data = load(table(tmp_path, text, name)).interactions
    assert data.users.labels.tolist() == [1, 2]
    assert data.items.labels.tolist() == [10]
    assert data.value.tolist() == [2.5, 1.0]
    assert data.time is not None
    assert data.time.tolist() == [100, 99]


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = table(tmp_path, "who|what|user\na|b|x\n", "t.txt")
    data = load(path, columns={"user": "who", "item": "what"}, separator="|").interactions
    assert data.users.labels.tolist() == ["a"]
    assert data.time is None
    assert data.value.tolist() == [1.0]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["3", "1", "2"], [1, 2, 3]),
        (["10", "9", "-1"], [-1, 9, 10]),
        (["007", "7"], ["007", "7"]),
        (["+1", "1"], ["+1", "1"]),
        (["1.0", "1"], ["1", "1.0"]),
        ([" 1", "1"], [" 1", "1"]),
        (["10", "9", "x"], ["10", "9", "x"]),
        (["9" * 18, "1"], [1, int("9" * 18)]),
        (["9" * 19, "1"], ["1", "9" * 19]),
        (["é", "e", "z", "Z"], ["Z", "e", "z", "é"]),
    ],
)
def test_ids_are_whole_numbers_when_all_are_otherwise_text_as_written(
    tmp_path: Path, ids: list[str], expected: list[int] | list[str]
) -> None:
    text = "user\titem\n" + "".join(f"{one}\t5\n" for one in ids)
    users = load(table(tmp_path, text, "t.tsv")).interactions.users
    assert users.labels.tolist() == expected
    assert users.is_text == isinstance(expected[0], str)


def test_categories_of_rows(tmp_path: Path) -> None:
    path = table(tmp_path, "user,item,category\n1,10,war\n1,11,love\n2,10,war\n2,12,\n3,10,love\n")
    known = load(path).catalogue.categories
    assert known is not None
    assert known.labels == ("love", "war")
    assert sorted(zip(known.item.tolist(), known.label.tolist())) == [(0, 0), (0, 1), (1, 0)]


def test_repeats_are_left_to_the_protocol_unless_something_else_is_said(tmp_path: Path) -> None:
    path = table(tmp_path, "user,item,value,time\n1,10,2,6\n1,10,3,5\n1,11,1,5\n")
    kept = load(path)
    assert len(kept.interactions) == 3
    assert kept.notes[0].startswith("t.csv: 1 row repeats a pair of user and item: the protocol says which")
    assert load(path, repeats="latest").interactions.value.tolist() == [2, 1]
    assert load(path, repeats="sum").interactions.value.tolist() == [5, 1]
    with pytest.raises(DataError, match="line 3: user '1' and item '10' must meet once"):
        load(path, repeats="refuse")


@pytest.mark.parametrize(
    "text", ["2012-04-03 18:20:27", "2012-04-03T18:20:27", "Tue Apr 03 18:20:27 +0000 2012"]
)
def test_dates_as_times(tmp_path: Path, text: str) -> None:
    data = load(table(tmp_path, f"user,item,time\n1,2,{text}\n")).interactions
    assert data.time is not None
    assert data.time.tolist() == [int(datetime(2012, 4, 3, 18, 20, 27, tzinfo=UTC).timestamp())]


def test_parquet_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame(
        {
            "user": pl.Series(["1", "2"], dtype=pl.Categorical),
            "item": pl.Series([1, 2], dtype=pl.UInt8),
            "value": [True, False],
            "time": [datetime(1970, 1, 1, 0, 1), datetime(1970, 1, 2)],
        }
    ).write_parquet(path)
    data = load(path).interactions
    assert data.users.labels.tolist() == ["1", "2"]  # text stays text: the file says so
    assert data.items.labels.tolist() == [1, 2]
    assert data.value.tolist() == [1.0, 0.0]
    assert data.time is not None
    assert data.time.tolist() == [60, 86_400]


def test_parquet_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "table.data"
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(path)
    assert len(load(path).interactions) == 1


# any text an id can be, except what no file of ours can hold: a zero byte, half a surrogate pair
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8)
IDS = st.lists(TEXTS, min_size=1, max_size=6, unique=True) | st.lists(
    st.integers(-(10**17), 10**17), min_size=1, max_size=6, unique=True
)


@examples(1.5)
@given(
    users=IDS,
    items=IDS,
    times=st.booleans(),
    suffix=st.sampled_from([".parquet", ".csv", ".tsv"]),
    data=st.data(),
)
def test_own_ids_make_the_round_trip(
    users: list[str] | list[int], items: list[str] | list[int], times: bool, suffix: str, data: st.DataObject
) -> None:
    n = max(len(users), len(items))
    user, item = (np.array([ids[k % len(ids)] for k in range(n)]) for ids in (users, items))
    value = np.array(data.draw(st.lists(st.floats(-1e9, 1e9), min_size=n, max_size=n)))
    time = np.array(data.draw(st.lists(st.integers(0, 2**31), min_size=n, max_size=n))) if times else None
    made = Interactions.of(user, item, value, time)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        try:
            write_table(path, made)
        except SettingError as error:
            breaks = any(c in str(i) for i in [*users, *items] for c in "\t\r\n")
            assert suffix == ".tsv" and breaks, str(error)  # noqa: PT017, PT018
            return
        back = load(path).interactions
    for vocabulary, again in ((made.users, back.users), (made.items, back.items)):
        expected = vocabulary.labels.tolist()
        if suffix != ".parquet" and all(canonical(label) for label in expected):
            expected = sorted(int(label) for label in expected)  # text files do not say what is text
        assert again.labels.tolist() == expected
    assert [str(i) for i in back.users.labels[back.user]] == [str(i) for i in user]
    assert [str(i) for i in back.items.labels[back.item]] == [str(i) for i in item]
    assert back.value.tolist() == value.tolist()
    assert (back.time is None) == (time is None)
    assert time is None or (back.time is not None and back.time.tolist() == time.tolist())


def canonical(label: object) -> bool:
    """Whether a text is a whole number of up to 18 digits, as Python writes it."""
    try:
        return str(int(str(label))) == str(label) and abs(int(str(label))) < 10**18
    except ValueError:
        return False


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    made = Interactions.of(np.array([1]), np.array([2]))
    with pytest.raises(SettingError, match=r"must end in .parquet, .csv, .tsv, but is 'x.xlsx'"):
        write_table(tmp_path / "x.xlsx", made)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_table(tmp_path / "file" / "x.csv", made)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]
