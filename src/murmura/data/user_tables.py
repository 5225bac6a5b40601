"""What tables say of users: their attributes, and who shares a client with whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from murmura.core.arrays import Ints
from murmura.core.errors import DataError
from murmura.core.interactions import Attributes, Vocabulary
from murmura.core.schedule import Grouping
from murmura.data.tables.column_kinds import TextLayout, numbers_of
from murmura.data.tables.text_file import read_text
from murmura.data.tables.text_table import lines

WORDS = {"true": "1", "false": "0"}


def attributes_of_file(path: Path, users: Vocabulary, user: str = "user") -> Attributes:
    """From a table with a header (CSV, or separated by tabs): the column `user`, and one for each attribute.

    Users whom the data does not know are passed over; of users whom the table does not name nothing is known
    (nan).
    """
    header, rows = table_with_header(path)
    if user not in header or len(header) < 2 or len(set(header)) < len(header):
        raise DataError(
            f"{path}: it must have a column '{user}' and columns of attributes, each once, but has "
            f"{', '.join(header)}; name yours."
        )
    codes = users.find([row[header.index(user)] for row in rows])
    seen: dict[int, int] = {}
    for line, code in enumerate(codes.tolist(), start=2):
        if code >= 0 and seen.setdefault(code, line) != line:
            raise DataError(
                f"{path}, line {line}: a user must have one row, but '{users.labels[code]}' has another on "
                f"line {seen[code]}; keep one."
            )
    found = {name: np.full(len(users), np.nan) for name in header if name != user}
    for name, column in found.items():
        texts = pl.Series([row[header.index(name)] for row in rows], dtype=pl.String)
        numbers = numbers_of(texts.str.to_lowercase().replace(WORDS))
        good = numbers.is_between(0, 1).fill_null(False)
        if not good.all():
            place = good.arg_min() or 0
            raise DataError(
                f"{path}, line {place + 2}, column '{name}': an attribute must be a number from 0 to 1, or "
                f"true or false, but is '{texts[place]}'; fix it."
            )
        column[codes[codes >= 0]] = numbers.to_numpy()[codes >= 0]
    return found


def table_with_header(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header of a table, and its rows, the first of them on line 2; a row of another width is refused."""
    text = read_text(path)
    separator = "\t" if b"\t" in text.content.partition(b"\n")[0] else ","
    header, *rows = (fields or [] for _, fields in lines(text, TextLayout(separator, quoted=True)))
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise DataError(
                f"{path}, line {line}: a row must have {len(header)} fields, but has {len(row)}; fix it."
            )
    return header, rows


ALONE = -1
SMALLEST, LARGEST = 3, 30  # members of a random group in the paper


@dataclass(frozen=True, eq=False)
class ClientGroups:
    """The group of every user; a user who is in none stands alone."""

    labels: tuple[str, ...]  # (groups,) what the owner calls them
    of: Ints  # (users,) a group's number, or ALONE

    def __len__(self) -> int:
        return len(self.labels)


def random_groups(n_users: int, seed: int, smallest: int = SMALLEST, largest: int = LARGEST) -> ClientGroups:
    """Users in a random order, cut into groups of uniformly random sizes from `smallest` to `largest`.

    The last group takes who is left; when those are fewer than `smallest`, they join the group before.
    """
    Grouping(smallest=smallest, largest=largest).check()
    if n_users < smallest:
        raise DataError(
            f"groups of {smallest} or more need as many users, but there are {n_users}; allow smaller groups."
        )
    random = np.random.default_rng([seed, n_users])
    order = random.permutation(n_users)
    ends = np.cumsum(random.integers(smallest, largest + 1, size=-(-n_users // smallest)))
    ends = ends[ends <= n_users - smallest]  # a cut that leaves too few behind it is not made
    of = np.empty(n_users, np.int32)
    of[order] = np.searchsorted(ends, np.arange(n_users), side="right")
    return ClientGroups(tuple(str(n + 1) for n in range(len(ends) + 1)), of)


def groups_of_file(path: Path, users: Vocabulary, user: str = "user", group: str = "group") -> ClientGroups:
    """From a table with a header (CSV, or separated by tabs): its columns `user` and `group`.

    A user may have any number of rows, and "" is no group. The table of ratings itself serves when it has such
    a column. Users whom the data does not know are passed over; users whom the table does not name stand alone.
    """
    header, rows = table_with_header(path)
    for name in (user, group):
        if name not in header:
            raise DataError(f"{path}: it must have a column '{name}', but has {', '.join(header)}; name yours.")
    who, which = header.index(user), header.index(group)
    named: dict[int, str] = {}
    for row, code in zip(rows, users.find([row[who] for row in rows]).tolist()):
        label = row[which]
        if code >= 0 and label and named.setdefault(code, label) != label:
            raise DataError(
                f"a user must be in one group, but user {row[who]!r} is in '{named[code]}' and '{label}'; "
                "keep one."
            )
    if not named:
        raise DataError("at least one known user must be in a group, but none is; check the ids of the groups.")
    labels = tuple(sorted(set(named.values())))
    place = {label: n for n, label in enumerate(labels)}
    of = np.full(len(users), ALONE, np.int32)
    of[list(named)] = [place[label] for label in named.values()]
    return ClientGroups(labels, of)
