"""LibraryThing in its two published forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmura.core.errors import DataError
from murmura.data.sources.registry import load
from murmura.engine.prepared import prepare
from murmura.engine.protocol import protocol

REVIEWS = """reviews = {}
reviews[('3206242', 'ann')] = {'unixtime': 1115683200, 'work': '3206242', 'flags': [], 'stars': 5.0,\
 'user': 'ann'}
reviews[('12', 'ann')] = {'unixtime': 1115683201, 'work': '12', 'comment': "it's {fine}", 'user': 'ann'}
reviews[('12', 'bob')] = {'unixtime': 1115683202, 'work': '12', 'stars': 3.5, 'user': 'bob', 'nhelpful': 0}
"""


def place(folder: Path, name: str, text: str) -> Path:
    where = folder / "librarything"
    where.mkdir()
    (where / name).write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize("name", ["reviews.txt", "reviews.json"])
def test_reviews(tmp_path: Path, name: str) -> None:
    text = (
        REVIEWS
        if name == "reviews.txt"
        else "\n".join(line[line.find("{") :] for line in REVIEWS.split("\n")[1:])
    )
    found = load("librarything", place(tmp_path, name, text))
    data = found.interactions
    assert data.users.labels[data.user].tolist() == ["ann", "bob"]
    assert data.items.labels[data.item].tolist() == ["3206242", "12"]
    assert data.value.tolist() == [5.0, 3.5]
    assert data.time is not None
    assert data.time.tolist() == [1115683200, 1115683202]
    assert found.notes == (f"{name}: 1 review gives no stars and is left out.",)


def test_broken_reviews(tmp_path: Path) -> None:
    folder = place(tmp_path, "reviews.txt", REVIEWS + "reviews[('1', 'c')] = {'user': __import__('os')}\n")
    with pytest.raises(DataError, match=r"reviews.txt, line 5: a line must be cut into fields"):
        load("librarything", folder)
    found = load("librarything", folder, skip_bad=True)
    assert len(found.interactions) == 2
    assert "reviews.txt: left out 1 bad row (broken line 1)." in found.notes


@pytest.mark.parametrize("cut", ["\t", " "])
def test_tagged_ratings(tmp_path: Path, cut: str) -> None:
    rows = ["7 30 9 sci-fi", "7 30 9 read twice", "7 31 2 dull", "8 30 10 sci-fi"]
    text = "\n".join(row.replace(" ", cut, 3) for row in rows)
    found = load("librarything", place(tmp_path, "UI2.txt", text))
    data = found.interactions
    assert data.users.labels[data.user].tolist() == ["7", "7", "8"]
    assert data.items.labels[data.item].tolist() == ["30", "31", "30"]
    assert data.value.tolist() == [4.5, 1.0, 5.0]  # the file holds twice the rating
    assert data.time is None
    assert found.notes == (
        "UI2.txt has no times: a split by time refuses it; put reviews.txt beside it for one.",
    )


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"librarything needs reviews.txt or UI2.txt: unpack reviews.txt"):
        load("librarything", tmp_path)


def test_a_split_by_time_takes_the_reviews(tmp_path: Path) -> None:
    """Two readers with 25 books each, the file of ratings without times beside the reviews or alone."""
    folder = place(tmp_path, "UI2.txt", "\n".join(f"{u} {b} 8 read" for u in (1, 2) for b in range(25)))
    alone = load("librarything", folder)
    with pytest.raises(DataError, match="needs a time for every row, but this data has none"):
        prepare(alone, protocol("fpl", alone))
    reviews = [
        str({"unixtime": 1000 - book, "work": str(book), "stars": 4.0, "user": user})
        for user in ("ann", "bob")
        for book in range(25)
    ]
    (folder / "librarything" / "reviews.txt").write_text("\n".join(reviews), "utf-8")
    both = load("librarything", folder)
    train = prepare(both, protocol("fpl", both)).split.train
    assert both.interactions.users.labels.tolist() == ["ann", "bob"]
    held_out = {str(book) for book in range(25)} - set(train.items.labels[train.item].tolist())
    assert held_out == {
        "0",
        "1",
        "2",
        "3",
        "4",
    }  # the newest fifth: the times go down with the number of the book
