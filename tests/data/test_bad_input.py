"""Bad input: one sentence with file and line; with `skip_bad` the good rows stay and the others are counted."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import polars as pl
import pytest

from murmura.core.errors import DataError, SettingError
from murmura.data.sources.registry import load
from murmura.data.tables import text_file as reading_room

HEAD = "user,item,value,time\n"
GOOD = HEAD + "1,10,3.5,100\n1,11,4,101\n2,10,1,99\n"

# the bad line, what the sentence says, the reason it is counted under; it is line 5 of the file
BAD_ROWS = {
    "unparseable value": ("3,10,abc,7", "the value ('value') must be a finite number, but is 'abc'"),
    "not finite value": ("3,10,NaN,7", "the value ('value') must be a finite number, but is 'NaN'"),
    "empty value": ("3,10,,7", "the value ('value') must be a finite number, but is ''"),
    "negative time": ("3,10,1,-7", "the time ('time') must be seconds since 1970, but is '-7'"),
    "unparseable time": ("3,10,1,noon", "the time ('time') must be seconds since 1970, but is 'noon'"),
    "time too large": ("3,10,1,99999999999999999", "but is '99999999999999999'"),
    "empty user": (",10,1,7", "the user ('user') must be a text of 1 to 255 characters, but is ''"),
    "too long item": (f"3,{'x' * 256},1,7", "but is 'xxxx"),
    "duplicate pair": ("1,11,2,7", "user '1' and item '11' must meet once, but they already met in line 3"),
    "wrong number of fields": ("3,10,1", "a row must have 4 fields, but this has 3"),
    "broken line": ('3,"10,1,7', "a line must be cut into fields by its quotes"),
}


def write(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("reason", BAD_ROWS)
def test_a_bad_row_is_one_sentence_with_file_and_line(tmp_path: Path, reason: str) -> None:
    row, sentence = BAD_ROWS[reason]
    path = write(tmp_path, GOOD + row + "\n")
    with pytest.raises(DataError, match=re.escape(f"{path}, line 5: ")) as caught:
        load(path, repeats="refuse")
    assert sentence in str(caught.value)
    assert str(caught.value).endswith("correct the line or skip bad rows (skip_bad, --skip-bad).")
    assert caught.value.exit_code == 3
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]  # nothing was written


@pytest.mark.parametrize("reason", BAD_ROWS)
def test_skip_bad_keeps_the_good_rows_and_counts_the_others(tmp_path: Path, reason: str) -> None:
    found = load(write(tmp_path, GOOD + BAD_ROWS[reason][0] + "\n"), skip_bad=True, repeats="refuse")
    assert found.interactions.fingerprint == load(write(tmp_path, GOOD, "good.csv")).interactions.fingerprint
    assert found.notes[-1] == f"table.csv: left out 1 bad row ({reason} 1)."


def test_skip_bad_reports_every_reason_with_its_count(tmp_path: Path) -> None:
    rows = ["3,10,x,7", "3,11,y,7", "1,11,2,7", "4,10,1,-1"]
    found = load(write(tmp_path, GOOD + "\n".join(rows)), skip_bad=True, repeats="refuse")
    reasons = "unparseable value 2, duplicate pair 1, negative time 1"
    assert found.notes[-1] == f"table.csv: left out 4 bad rows ({reasons})."


def test_skip_bad_does_not_excuse_a_file_without_good_rows(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="at least one good row, but it has none; left out: unparseable value 1"
    ):
        load(write(tmp_path, HEAD + "1,2,x,4\n"), skip_bad=True)


def test_the_first_bad_line_is_named_even_far_into_a_file(tmp_path: Path) -> None:
    rows = [f"{n},{n},1,{n}" for n in range(5_000)]
    rows[4_321] = "4321,4321,1,"
    with pytest.raises(DataError, match=r"line 4323: the time \('time'\)"):
        load(write(tmp_path, HEAD + "\n".join(rows)))


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "user,thing\n1,2\n",
            r"table.csv: it must be clear which column is the item, but the columns are 'user', 'thing'; say "
            r"it, perhaps with --columns user=user,item=thing.\n  1 \| user,thing\n  2 \| 1,2",
        ),
        ("", "table.csv: the file must hold rows, but it is empty"),
        ("\n\n", "table.csv: the file must hold rows, but it is empty"),
        (HEAD, "table.csv: the file must hold at least one good row, but it has none"),
        (GOOD.encode("utf-16-le"), r"table.csv, line 1: the file must be utf-8 text, but holds a zero byte"),
        (b"PK\x03\x04" + GOOD.encode(), "it is a workbook or a zip file; save its table as CSV"),
        ("user\n1\n2\n", "its rows have one field; say what stands between fields"),
    ],
    ids=["missing column", "empty", "blank", "header only", "utf-16 unmarked", "workbook", "one column"],
)
def test_a_bad_file_is_refused(tmp_path: Path, content: str | bytes, sentence: str, skip_bad: bool) -> None:
    with pytest.raises(DataError, match=sentence):
        load(write(tmp_path, content), skip_bad=skip_bad)


def test_a_column_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: the header must name the column 'stars' \(value\)"):
        load(write(tmp_path, GOOD), columns={"value": "stars"})
    with pytest.raises(
        SettingError, match="columns must name user, item, value, time, category, but names 'usr'"
    ):
        load(write(tmp_path, GOOD), columns={"usr": "user"})


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere.csv: there is no such file"):
        load(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="it must be a file, or a folder shaped like one of"):
        load(tmp_path)
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(DataError, match="it must be a file"):
        load(tmp_path / "table.csv")


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, GOOD)

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)  # the tests may run as root, whom nothing is denied
    with pytest.raises(DataError, match=r"cannot be read \(Permission denied\)"):
        load(path)


def test_gzip_is_read_and_a_cut_or_damaged_one_refused(tmp_path: Path) -> None:
    packed = gzip.compress(GOOD.encode() * 1)
    plain = load(write(tmp_path, GOOD, "plain.csv")).interactions.fingerprint
    assert load(write(tmp_path, packed, "a.csv.gz")).interactions.fingerprint == plain
    two = gzip.compress(HEAD.encode()) + gzip.compress(GOOD.removeprefix(HEAD).encode()) + b"\0" * 16
    assert load(write(tmp_path, two, "b.csv.gz")).interactions.fingerprint == plain
    for skip_bad in (False, True):
        with pytest.raises(
            DataError, match=r"c.csv.gz, line \d: the gzip file is cut short here; download it again"
        ):
            load(write(tmp_path, packed[:-9], "c.csv.gz"), skip_bad=skip_bad)
        broken = packed[:-6] + b"\0\0" + packed[-4:]
        with pytest.raises(DataError, match=r"d.csv.gz, line \d: the gzip file is damaged"):
            load(write(tmp_path, broken, "d.csv.gz"), skip_bad=skip_bad)


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_room, "SMALL", 2**20)
    bomb = gzip.compress(b"0" * 2**24)  # a thousandfold; MOST times its size is 3 MiB
    with pytest.raises(DataError, match=r"must unpack to at most [0-9,]+ bytes, but holds more"):
        load(write(tmp_path, bomb, "bomb.csv.gz"))


BAD_PARQUET: dict[str, dict[str, object]] = {
    "empty user": {"user": None},
    "empty value": {"value": None},
    "not finite value": {"value": float("nan")},
    "negative time": {"time": -1},
    "duplicate pair": {"user": 1, "item": 10},
}


@pytest.mark.parametrize("reason", BAD_PARQUET)
def test_parquet(tmp_path: Path, reason: str) -> None:
    good = [{"user": 1, "item": 10, "value": 2.0, "time": 5}, {"user": 2, "item": 10, "value": 1.0, "time": 6}]
    path = tmp_path / "t.parquet"
    pl.DataFrame(
        [*good, {"user": 3, "item": 10, "value": 2.0, "time": 5, **BAD_PARQUET[reason]}]
    ).write_parquet(path)
    with pytest.raises(DataError, match=f"t.parquet, row 3: a row must be sound, but this has: {reason}"):
        load(path, repeats="refuse")
    found = load(path, skip_bad=True, repeats="refuse")
    assert found.notes[-1] == f"t.parquet: left out 1 bad row ({reason} 1)."
    assert found.interactions.users.labels.tolist() == [1, 2]


def test_parquet_columns_of_the_wrong_kind(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"user": [1.5], "item": [2]}).write_parquet(path)
    with pytest.raises(
        DataError, match="the column of the user must hold whole numbers or text, but holds Float64"
    ):
        load(path)
    pl.DataFrame({"user": [1], "item": [2], "value": ["good"]}).write_parquet(path)
    with pytest.raises(DataError, match="the column of the value must hold numbers, but holds String"):
        load(path)
    pl.DataFrame({"user": [1]}).write_parquet(path)
    with pytest.raises(DataError, match=r"which column is the item, but the columns are 'user'"):
        load(path)
