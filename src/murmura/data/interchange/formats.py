"""The files other tools read and write: who names columns how, what separates them, what a file is called.

trec: lists `user Q0 item rank score tag`, judgements `user 0 item relevance` in qrels.txt, blanks between.
elliot: lists user, item, score; train.tsv, validation.tsv, test.tsv: user, item, value[, time]; no headers.
warprec: the same files with headers: user_id, item_id, rating[, timestamp].
recbole: atomic files with typed headers: user_id:token, item_id:token, rating:float[, timestamp:float] in
NAME.train.inter, NAME.valid.inter and NAME.test.inter; lists have score:float.
docs/data.md says how each tool is told to use them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmura.core.errors import DataError, SettingError
from murmura.core.files import whole_file

Row = Sequence[Any]


@dataclass(frozen=True)
class FileFormat:
    """How one tool wants its files."""

    name: str
    separator: str
    lists: tuple[str, ...]  # the header of a list file; () for none
    rows: tuple[str, ...]  # the header of a part of a split, the time last; () for none
    parts: tuple[str, str, str]  # the files of training, validation and test
    suffix: str  # of a list file


FORMATS = {
    "trec": FileFormat("trec", " ", (), (), ("", "", ""), ".run"),
    "elliot": FileFormat("elliot", "\t", (), (), ("train.tsv", "validation.tsv", "test.tsv"), ".tsv"),
    "warprec": FileFormat(
        "warprec",
        "\t",
        ("user_id", "item_id", "rating"),
        ("user_id", "item_id", "rating", "timestamp"),
        ("train.tsv", "validation.tsv", "test.tsv"),
        ".tsv",
    ),
    "recbole": FileFormat(
        "recbole",
        "\t",
        ("user_id:token", "item_id:token", "score:float"),
        ("user_id:token", "item_id:token", "rating:float", "timestamp:float"),
        ("{name}.train.inter", "{name}.valid.inter", "{name}.test.inter"),
        ".lists",
    ),
}


def format_named(name: str) -> FileFormat:
    """The form behind a name."""
    if name not in FORMATS:
        raise SettingError(f"--format must be one of {', '.join(FORMATS)}, but it is '{name}'.")
    return FORMATS[name]


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Row], separator: str) -> None:
    """A text file, whole or not at all; refuses an id that holds the separator or a line break."""
    forbidden = " \t\r\n" if separator == " " else "\t\r\n"
    with whole_file(path, DataError) as file:
        if header:
            file.write((separator.join(header) + "\n").encode())
        for row in rows:
            fields = [str(field) for field in row]
            bad = next((one for one in fields if not one or any(mark in one for mark in forbidden)), None)
            if bad is not None:
                raise DataError(
                    f"{path}: an id must be without blanks in this format, but one is {bad!r}; "
                    "choose another --format or other ids."
                )
            file.write((separator.join(fields) + "\n").encode())
