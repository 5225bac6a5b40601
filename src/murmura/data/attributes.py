"""What users say of themselves, from a file: numbers from 0 to 1, or true and false, for criteria."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from murmura.core.errors import DataError
from murmura.core.interactions import Attributes, Vocabulary
from murmura.data.tables.text_file import read_text

WORDS = {"true": 1.0, "false": 0.0}


def attributes_of_file(path: Path, users: Vocabulary, user: str = "user") -> Attributes:
    """From a table with a header (CSV, or separated by tabs): the column `user`, and one for each attribute.

    Users whom the data does not know are passed over; of users whom the table does not name nothing is known
    (nan).
    """
    lines = read_text(path).content.decode().splitlines()
    header, *rows = csv.reader(lines, delimiter="\t" if "\t" in lines[0] else ",")
    if user not in header or len(header) < 2 or len(set(header)) < len(header):
        raise DataError(
            f"{path}: it must have a column '{user}' and columns of attributes, each once, but has "
            f"{', '.join(header)}; name yours."
        )
    place = header.index(user)
    named = [(at, name) for at, name in enumerate(header) if at != place]
    found = {name: np.full(len(users), np.nan) for _, name in named}
    codes = users.find([row[place] if len(row) > place else "" for row in rows])
    seen: dict[int, int] = {}
    for line, (row, code) in enumerate(zip(rows, codes.tolist()), start=2):
        if len(row) != len(header):
            raise DataError(
                f"{path}, line {line}: a row must have {len(header)} fields, but has {len(row)}; fix it."
            )
        if code >= 0 and seen.setdefault(code, line) != line:
            raise DataError(
                f"{path}, line {line}: a user must have one row, but '{row[place]}' has another on line "
                f"{seen[code]}; keep one."
            )
        for at, name in named:
            value = _number(path, line, name, row[at])
            if code >= 0:
                found[name][code] = value
    return found


def _number(path: Path, line: int, name: str, text: str) -> float:
    try:
        value = WORDS[text.lower()] if text.lower() in WORDS else float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise DataError(
            f"{path}, line {line}, column '{name}': an attribute must be a number from 0 to 1, or true or "
            f"false, but is '{text}'; fix it."
        )
    return value
