"""Adjacency lists, in which graph papers publish data and split: a line is a user and all of her items.

`train.txt`, `test.txt` and perhaps `valid.txt` stand in one folder. Some put the rows of `valid.txt` into
`train.txt` as well, to train on them once settings are chosen: here a row of both is a validation row.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from murmura.core.arrays import Longs
from murmura.core.errors import DataError
from murmura.data.tables.text_file import TextFile

TRAIN, VALIDATION, TEST = NAMES = ("train.txt", "valid.txt", "test.txt")


class AdjacencyRows(NamedTuple):
    """The rows of one file, in its order."""

    user: Longs
    item: Longs
    line: Longs  # from 1


def read_adjacency(text: TextFile) -> AdjacencyRows:
    """The rows of a file; refuses what is no whole number. A user without items has no row."""
    users, items, numbers, sizes = list[int](), list[int](), list[int](), list[int]()
    for at, line in text.lines():
        try:
            who, *own = map(int, line.split() or (0,))
        except ValueError:
            raise DataError(
                f"{text.path}, line {at}: a line must be a user and her items, whole numbers with blanks "
                f"between them, but is {line[:40]!r}."
            ) from None
        users.append(who)
        items += own
        numbers.append(at)
        sizes.append(len(own))
    user, where = (np.repeat(np.array(column, np.int64), sizes) for column in (users, numbers))
    return AdjacencyRows(user, np.array(items, np.int64), where)


def has_adjacency(folder: Path) -> bool:
    """Whether a folder has a training and a test part in this form."""
    return all((folder / name).is_file() for name in (TRAIN, TEST))
