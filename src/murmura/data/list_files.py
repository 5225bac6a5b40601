"""Ranked lists in files: the forms of other tools, ours written in them, and anybody's read as ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from murmura.core.arrays import Longs, Singles
from murmura.core.errors import DataError, SettingError
from murmura.core.files import whole_file
from murmura.core.interactions import Interactions, Vocabulary
from murmura.core.model import NO_ITEM, RankedLists
from murmura.data.tables.text_file import read_text

Row = Sequence[Any]


class FileFormat(NamedTuple):
    """How one tool wants its files."""

    separator: str
    lists: tuple[str, ...] = ()  # the header of a list file; () for none
    rows: tuple[str, ...] = ()  # the header of a part of a split, the time last; () for none
    parts: tuple[str, str, str] = ("train.tsv", "validation.tsv", "test.tsv")  # the files of a split
    suffix: str = ".tsv"  # of a list file


FORMATS = {
    "trec": FileFormat(" ", suffix=".run"),
    "elliot": FileFormat("\t"),
    "warprec": FileFormat(
        "\t", ("user_id", "item_id", "rating"), ("user_id", "item_id", "rating", "timestamp")
    ),
    "recbole": FileFormat(
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


OURS = ("user", "rank", "item", "score")  # recommendations.tsv of a run folder
READ = ("auto", "murmura", *FORMATS)


def write_lists(path: Path, lists: RankedLists, data: Interactions, form: str, tag: str = "murmura") -> None:
    """Write lists under own ids.

    Tools sort by the score, some in single precision: where a score does not fall, it is lowered to the next
    smaller number, so that everybody reads the order we mean.
    """
    wanted = format_named(form)
    write_rows(path, wanted.lists, _rows(lists, data, form, tag.replace(" ", "_")), wanted.separator)


def _rows(lists: RankedLists, data: Interactions, form: str, tag: str) -> Iterator[Row]:
    users, items = data.users.labels, data.items.labels
    for user, row, scores in zip(users[lists.user].tolist(), lists.item, lists.score):
        kept = row >= 0
        falling = _falling(scores[kept]).tolist()
        for rank, (item, score) in enumerate(zip(items[row[kept]].tolist(), falling), start=1):
            text = f"{score:.9g}"  # nine digits tell every number of single precision from its neighbours
            yield (user, "Q0", item, rank, text, tag) if form == "trec" else (user, item, text)


def _falling(scores: Singles) -> Singles:
    """The scores in single precision, each below the one before it."""
    falling = np.nan_to_num(scores.astype(np.float32), nan=-1e30, posinf=1e30, neginf=-1e30)
    for place in range(1, len(falling)):
        falling[place] = min(falling[place], np.nextafter(falling[place - 1], np.float32(-np.inf)))
    return falling


def read_lists(path: Path, data: Interactions, form: str = "auto") -> RankedLists:
    """Lists over the users and items of `data`: best score first, of equal ones the earlier line.

    Refuses a file of another shape, a score that is no number, and users and items the data does not have.
    """
    if form not in READ:
        raise SettingError(f"--format must be one of {', '.join(READ)}, but it is '{form}'.")
    lines = [(number, line) for number, line in read_text(path).lines() if line.strip()]
    known = _guess(path, lines[0][1]) if form == "auto" else form
    header = OURS if known == "murmura" else FORMATS[known].lists
    rows = [(number, line.split(None if known == "trec" else "\t")) for number, line in lines]
    if header and tuple(rows.pop(0)[1]) != header:
        raise DataError(f"{path}: a {known} file must begin with {' '.join(header)}, but does not.")
    if not rows:
        raise DataError(f"{path}: the file must hold lists, but has none.")
    width = 6 if known == "trec" else len(header) or 3
    for number, fields in rows:
        if len(fields) != width:
            raise DataError(
                f"{path}, line {number}: a {known} list must have {width} fields, but here are {len(fields)}."
            )
    places = {"murmura": (0, 2, 3), "trec": (0, 2, 4)}.get(known, (0, 1, 2))
    users, items, scores = ([fields[place] for _, fields in rows] for place in places)
    numbers = [number for number, _ in rows]
    must = "be one of the {:,} of this data, but is not; give the data and protocol the lists were made with"
    user = codes_in_file(path, data.users, users, numbers, "user", must)
    item = codes_in_file(path, data.items, items, numbers, "item", must)
    score = np.array([_score(path, *one) for one in zip(numbers, scores)])
    order = np.lexsort((np.arange(len(user)), -score, user))
    user, item, score = user[order], item[order], score[order]
    who, start, size = np.unique(user, return_index=True, return_counts=True)
    place = np.arange(len(user)) - np.repeat(start, size)
    lists = np.full((len(who), int(size.max())), NO_ITEM, np.int32)
    listed = np.full(lists.shape, -np.inf, np.float32)
    row = np.repeat(np.arange(len(who)), size)
    lists[row, place], listed[row, place] = item, score
    return RankedLists(who.astype(np.int32), lists, listed)


def _guess(path: Path, first: str) -> str:
    """The form the first line shows."""
    fields = tuple(first.split("\t"))
    headers = {OURS: "murmura", **{form.lists: name for name, form in FORMATS.items() if form.lists}}
    if fields in headers:
        return headers[fields]
    if len(first.split()) == 6:
        return "trec"
    if len(fields) == 3:
        return "elliot"
    raise DataError(
        f"{path}: the lists must be in a form of {', '.join(READ[1:])}, but the first line fits none: "
        f"{first[:60]!r}; name it with --format."
    )


def codes_in_file(
    path: Path, known: Vocabulary, wanted: Sequence[Any], numbers: Sequence[int], what: str, must: str
) -> Longs:
    """The codes of users or items on numbered lines of a file; one that the data does not have is refused."""
    codes = known.find(wanted)
    if (codes < 0).any():
        place = int(np.argmax(codes < 0))
        which = f"the {what} {wanted[place]!r} must {must.format(len(known))}"
        raise DataError(f"{path}, line {numbers[place]}: {which}.")
    return codes.astype(np.int64)


def _score(path: Path, number: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if np.isnan(value):
        raise DataError(f"{path}, line {number}: the score must be a number, but it is {text!r}.")
    return value
