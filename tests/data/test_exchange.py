"""Lists and splits in the files of other tools: they come back as they went, and bad files are refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmura.core.catalogue import TEST, TRAIN, VALIDATION, Split
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import NO_ITEM, RankedLists
from murmura.data.list_files import FORMATS, read_lists, write_lists
from murmura.data.splits.split_files import GivenSplit, save_split, write_split

ROWS = [("a", "x", 5.0), ("a", "y", 3.0), ("a", "z", 1.0), ("b", "x", 4.0), ("b", "z", 2.0), ("c", "y", 3.0)]
PART = np.array([TRAIN, VALIDATION, TEST, TRAIN, TEST, TRAIN], np.uint8)


def data(times: bool = True) -> Interactions:
    user, item, value = zip(*ROWS)
    time = np.arange(len(ROWS)) * 10 if times else None
    return Interactions.of(np.array(user), np.array(item), np.array(value), time)


def lists() -> RankedLists:
    """User a is shown z, x, y with two equal scores; user c is shown x alone."""
    item = np.array([[2, 0, 1], [0, NO_ITEM, NO_ITEM]], np.int32)
    score = np.array([[0.5, 0.5, 0.25], [-1.5, -np.inf, -np.inf]], np.float32)
    return RankedLists(np.array([0, 2], np.int32), item, score)


@pytest.mark.parametrize("form", FORMATS)
def test_lists_come_back_in_their_order(tmp_path: Path, form: str) -> None:
    write_lists(tmp_path / "lists", lists(), data(), form, "my run")
    for told in ("auto", form):
        back = read_lists(tmp_path / "lists", data(), told)
        assert back.user.tolist() == [0, 2]
        assert back.item.tolist() == lists().item.tolist()  # equal scores kept their places


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=8))
def test_whoever_sorts_by_score_reads_our_order(scores: list[float]) -> None:
    """Written scores fall strictly, in single precision too, and hardly differ from ours."""
    from murmura.data.list_files import _falling

    ours = np.sort(np.array(scores, np.float32))[::-1]
    falling = np.array([float(f"{score:.9g}") for score in _falling(ours)], np.float32)
    assert (np.diff(falling) < 0).all()
    assert np.allclose(falling, ours, rtol=1e-5, atol=1e-30)


def test_the_files_are_what_the_tools_document(tmp_path: Path) -> None:
    def text(form: str) -> list[str]:
        write_lists(tmp_path / form, lists(), data(), form, "my run")
        return (tmp_path / form).read_text().splitlines()

    assert text("trec")[0] == "a Q0 z 1 0.5 my_run"
    assert text("trec")[1] == "a Q0 x 2 0.49999997 my_run"
    assert text("elliot")[2] == "a\ty\t0.25"
    assert text("warprec")[:2] == ["user_id\titem_id\trating", "a\tz\t0.5"]
    assert text("recbole")[0] == "user_id:token\titem_id:token\tscore:float"
    split = Split("by hand", data(), PART)
    assert [path.name for path in write_split(tmp_path / "t", split, "trec", "d", 2.0)] == ["qrels.txt"]
    assert (tmp_path / "t" / "qrels.txt").read_text() == "a 0 z 0\nb 0 z 1\n"  # 1 is below 2
    names = [path.name for path in write_split(tmp_path / "r", split, "recbole", "d", None)]
    assert names == ["d.train.inter", "d.valid.inter", "d.test.inter"]
    assert (tmp_path / "r" / "d.valid.inter").read_text().splitlines() == [
        "user_id:token\titem_id:token\trating:float\ttimestamp:float",
        "a\ty\t3\t10",
    ]
    write_split(tmp_path / "e", split, "elliot", "d", None)
    assert (tmp_path / "e" / "test.tsv").read_text() == "a\tz\t1\t20\nb\tz\t2\t40\n"
    without = Split("by hand", data(times=False), PART)
    write_split(tmp_path / "w", without, "warprec", "d", None)
    assert (tmp_path / "w" / "train.tsv").read_text().splitlines()[:2] == [
        "user_id\titem_id\trating",
        "a\tx\t5",
    ]


@pytest.mark.parametrize("form", ["elliot", "warprec", "recbole", "npz"])
def test_a_split_comes_back(tmp_path: Path, form: str) -> None:
    split = Split("by hand", data(), PART)
    if form == "npz":
        save_split(tmp_path / "split.npz", split)
        back = GivenSplit(path=str(tmp_path / "split.npz")).apply(data())
    else:
        write_split(tmp_path, split, form, "d", None)
        back = GivenSplit(path=str(tmp_path)).apply(data())
    assert back.part.tolist() == PART.tolist()
    assert back.data.fingerprint == split.data.fingerprint


def test_rows_in_no_file_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a\tx\t5\nb\tx\t4\n")
    (tmp_path / "test.tsv").write_text("a\ty\t3\n")
    back = GivenSplit(path=str(tmp_path)).apply(data())
    assert back.part.tolist() == [TRAIN, TEST, TRAIN]
    assert back.data.users.labels.tolist() == ["a", "b"]
    assert back.data.items.labels.tolist() == ["x", "y"]


def test_whole_numbers_are_found_too(tmp_path: Path) -> None:
    rows = Interactions.of(np.array([1, 1, 20]), np.array([300, 4, 4]))
    (tmp_path / "lists.tsv").write_text("20\t300\t1\n1\t4\t2\n1\t300\t3\n")
    back = read_lists(tmp_path / "lists.tsv", rows)
    assert back.user.tolist() == [0, 1]
    assert back.item.tolist() == [[1, 0], [1, NO_ITEM]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "it is empty"),
        ("a\tx\n", "fits none"),
        ("a\tx\t1\nb\tx\n", "line 2: a elliot list must have 3 fields"),
        ("a\tx\tgood\n", "line 1: the score must be a number, but it is 'good'"),
        ("a\tx\tnan\n", "the score must be a number"),
        ("q\tx\t1\n", "the user 'q' must be one of the 3"),
        ("a\tx\t1\na\tq\t1\n", "line 2: the item 'q' must be one of the 3"),
        ("a Q0 x 1 2\n", "fits none"),
        ("user_id\titem_id\trating\n", "must hold lists, but has none"),
    ],
)
def test_bad_lists_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "bad").write_text(text)
    with pytest.raises(DataError, match=sentence):
        read_lists(tmp_path / "bad", data())


def test_more_bad_input(tmp_path: Path) -> None:
    (tmp_path / "lists").write_text("a\tx\t1\n")
    with pytest.raises(SettingError, match="--format must be one of"):
        read_lists(tmp_path / "lists", data(), "csv")
    with pytest.raises(DataError, match="must begin with user_id"):
        read_lists(tmp_path / "lists", data(), "warprec")
    with pytest.raises(DataError, match="no such file"):
        read_lists(tmp_path / "nowhere", data())
    blank = Interactions.of(np.array(["a b"]), np.array(["x"]))
    one = RankedLists(np.zeros(1, np.int32), np.zeros((1, 1), np.int32), np.ones((1, 1), np.float32))
    with pytest.raises(DataError, match="without blanks"):
        write_lists(tmp_path / "out", one, blank, "trec")
    assert not (tmp_path / "out").exists()
    write_lists(tmp_path / "out", one, blank, "elliot")  # tabs separate: a blank does no harm
    assert read_lists(tmp_path / "out", blank).item.tolist() == [[0]]


@pytest.mark.parametrize(
    ("train", "test", "sentence"),
    [
        ("a\tx\n", None, "must have test.tsv"),
        ("a\tx\n", "a\tx\n", "user a and item x is in two parts"),
        ("a\tx\n", "c\tx\n", "user c and item x must be a row of the data"),
        ("a\tx\n", "q\tx\n", "line 1: the user 'q' must be in the data"),
        ("user_id\titem_id\na\tx\n", "user_id\titem_id\na\tq\n", "line 2: the item 'q' must be in the data"),
        ("a x\n", "a\ty\n", "has no tab"),
    ],
)
def test_bad_splits_are_refused(tmp_path: Path, train: str, test: str | None, sentence: str) -> None:
    (tmp_path / "train.tsv").write_text(train)
    if test is not None:
        (tmp_path / "test.tsv").write_text(test)
    with pytest.raises(DataError, match=sentence):
        GivenSplit(path=str(tmp_path)).apply(data())


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="it is neither"):
        GivenSplit(path=str(tmp_path / "nowhere")).apply(data())
    (tmp_path / "a.train.inter").write_text("")
    (tmp_path / "b.train.inter").write_text("")
    with pytest.raises(DataError, match="must hold one split"):
        GivenSplit(path=str(tmp_path)).apply(data())
