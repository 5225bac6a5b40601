"""Tables as strangers have them: other names, separators, encodings; what is said where nothing can be told."""

from __future__ import annotations

import gzip
import inspect
from pathlib import Path

import pytest

from murmura.core.errors import DataError, SettingError
from murmura.core.settings import field_names
from murmura.data.reading import READING_KEYS, Reading
from murmura.data.sources.registry import load
from murmura.data.tables.dialect import named

ROWS = [(1, 10, 4.5), (1, 11, 2.0), (2, 10, 1.0)]


def lines(form: str, end: str = "\n") -> str:
    return "".join(form.format(u=user, i=item, v=value) + end for user, item, value in ROWS)


PLAIN = "{u},{i},{v}"
ODD: dict[str, tuple[str, bytes]] = {
    "semicolons": ("t.csv", ("user;item;rating\n" + lines("{u};{i};{v}")).encode()),
    "tabs in a csv": ("t.csv", ("user\titem\trating\n" + lines("{u}\t{i}\t{v}")).encode()),
    "bars": ("t.txt", ("user|item|rating\n" + lines("{u}|{i}|{v}")).encode()),
    "no header": ("t.dat", lines("{u}::{i}::{v}").encode()),
    "spaces between": ("t.txt", lines("{u}  {i} {v}").encode()),
    "spaces after commas": ("t.csv", ("user, item, rating\n" + lines("{u}, {i}, {v}")).encode()),
    "spaces and quotes": ("t.csv", ('"user", "item", "rating"\n' + lines('"{u}", "{i}", {v}')).encode()),
    "other names": ("t.csv", ("CustomerID,product_id,Stars\n" + lines(PLAIN)).encode()),
    "another language": ("t.csv", ("Kundennr;Artikel;Bewertung\n" + lines("{u};{i};{v}")).encode()),
    "a column too many": ("t.csv", (",user,item,rating,\n" + lines(",{u},{i},{v},")).encode()),
    "windows": ("t.csv", ("﻿user,item,rating\r\n" + lines(PLAIN, "\r\n")).encode()),
    "old macintosh": ("t.csv", ("user,item,rating\r" + lines(PLAIN, "\r")).encode()),
    "utf-16": ("t.csv", ("user\titem\trating\r\n" + lines("{u}\t{i}\t{v}", "\r\n")).encode("utf-16")),
    "a spreadsheet's own line": ("t.csv", ("sep=;\r\nuser;item;rating\r\n" + lines("{u};{i};{v}")).encode()),
    "remarks": ("t.tsv", ("# made by hand\n#user\titem\trating\n" + lines("{u}\t{i}\t{v}")).encode()),
    "blank lines": ("t.csv", ("\n\nuser,item,rating\n" + lines(PLAIN, "\n\n")).encode()),
    "gzip": ("t.csv.gz", gzip.compress(("user,item,rating\n" + lines(PLAIN)).encode())),
    "decimal commas": ("t.csv", ("user;item;rating\n" + lines("{u};{i};{v}").replace(".", ",")).encode()),
}


def written(folder: Path, content: bytes | str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("shape", ODD)
def test_it_is_read_at_the_first_attempt(tmp_path: Path, shape: str) -> None:
    name, content = ODD[shape]
    data = load(written(tmp_path, content, name)).interactions
    found = zip(
        data.users.labels[data.user].tolist(), data.items.labels[data.item].tolist(), data.value.tolist()
    )
    assert list(found) == ROWS


def test_what_is_not_as_usual_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, "Größe;Kunde;Titel;Wert\nL;Jürgen;Käse;4,5\n".encode("latin-1"))
    found = load(path)
    assert found.notes == (
        "t.csv: read as windows-1252, as it is not UTF-8.",
        "t.csv: user is 'Kunde', item is 'Titel', value is 'Wert'; not used: 'Größe'; "
        "fields are separated by ';'.",
        "t.csv: values have a decimal comma.",
    )
    assert found.interactions.users.labels.tolist() == ["Jürgen"]
    assert load(written(tmp_path, "user,item\n1,2\n", "plain.csv")).notes == ()
    assert load(written(tmp_path, "1,2,3\n", "bare.csv")).notes == (
        "bare.csv: it has no header: user is column 1, item is column 2, value is column 3.",
    )


def test_what_cannot_be_told_is_shown_with_a_guess(tmp_path: Path) -> None:
    path = written(tmp_path, "a b,b,rating\n1,2,3\n4,5,6\n7,8,9\n")
    with pytest.raises(DataError) as caught:
        load(path)
    assert str(caught.value) == (
        f"{path}: it must be clear which column is the user and which the item, but the columns are 'a b', "
        "'b', 'rating'; say it, perhaps with --columns 'user=a b,item=b,value=rating'.\n"
        "  1 | a b,b,rating\n  2 | 1,2,3\n  3 | 4,5,6"
    )
    assert load(path, columns={"user": "b", "item": 1}).interactions.users.labels.tolist() == [2, 5, 8]
    two = written(tmp_path, "user,artist,track\nx,y,z\n", "two.csv")
    with pytest.raises(
        DataError, match="which column is the item, but the columns are 'user', 'artist', 'track'"
    ):
        load(two)


def test_columns_without_names_are_told_by_their_place(tmp_path: Path) -> None:
    path = written(tmp_path, "10,1,x,y,2021-03-04\n", "wide.csv")
    with pytest.raises(
        DataError, match=r"it has 5; say which is which, perhaps with --columns user=1,item=2,time=5"
    ):
        load(path)
    data = load(path, columns={"user": 2, "item": 1}).interactions
    assert (data.users.labels[0], data.items.labels[0], data.time) == (1, 10, None)
    with pytest.raises(DataError, match="columns must be places from 1 to 5, but the user is 'who'"):
        load(path, columns={"user": "who", "item": 1})


def test_what_is_said_comes_before_what_is_found_out(tmp_path: Path) -> None:
    path = written(tmp_path, "user,item\n1,2\n")
    bare = load(path, header=False)  # nothing is believed about the first line
    assert bare.interactions.users.labels.tolist() == ["1", "user"]
    tabs = written(tmp_path, "user\titem,x\n1\t2,3\n", "mixed.txt")
    assert load(tabs, separator="tab", columns={"item": "item,x"}).interactions.items.labels.tolist() == ["2,3"]
    with pytest.raises(SettingError, match="columns must name user, item, value, time, category"):
        load(path, columns={"person": "user"})


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (["userId", "movieId", "rating", "timestamp"], "userId movieId rating timestamp"),
        (["movieId", "title", "userId"], "userId movieId"),
        (["User-ID", "ISBN", "Book-Rating"], "User-ID ISBN Book-Rating"),
        (["order_no", "member_key", "SKU", "bought_at"], "member_key SKU bought_at"),
        (["visitorid", "itemid", "event", "timestamp"], "visitorid itemid timestamp"),
        (["utente", "prodotto", "voto", "data"], "utente prodotto voto"),
        (["alpha", "beta"], ""),
    ],
)
def test_names_of_columns(header: list[str], found: str) -> None:
    assert list(named(header, {}).values()) == found.split()


def test_names_of_items_come_from_a_file(tmp_path: Path) -> None:
    data = written(tmp_path, "user,item\n1,10\n2,11\n1,12\n")
    for text in ("item;price;title\n10;3;Käse\n11;4;Brot\n99;5;Wein\n", "10;Käse\n11;Brot\n99;Wein\n"):
        found = load(data, item_names=written(tmp_path, text.encode("latin-1"), "names.csv"))
        assert [found.catalogue.name(code) for code in range(3)] == ["Käse", "Brot", "12"]
        assert found.notes[-2:] == (
            "names.csv: 1 entry is of an item that the data does not have ('99'); left out.",
            "names.csv: 1 of 3 items have no name; their ids are shown.",
        )
    with pytest.raises(DataError, match="a column must be called name or title, but they are 'item', 'a', 'b'"):
        load(data, item_names=written(tmp_path, "item,a,b\n10,x,y\n", "names.csv"))


def test_the_words_are_the_same_on_the_command_line_in_yaml_and_in_python() -> None:
    keywords = set(inspect.signature(load).parameters) - {"name_or_path", "data_dir"}
    assert set(READING_KEYS) == set(field_names(Reading)) == keywords
