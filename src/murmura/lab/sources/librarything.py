"""LibraryThing: book ratings in either published form.

`reviews.txt` or `reviews.json` (Zhao, McAuley and King, CIKM 2015): reviews with times. `UI2.txt` (Clements, de
Vries and Reinders): the 7,279 users, 37,232 books and 749,401 ratings of FedeRank (ECIR 2021); no times.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.data.sources.source import Source, SourceFolder, side
from murmura.data.tables.column_kinds import ColumnKind, ColumnSpec
from murmura.data.tables.text_file import TextFile
from murmura.data.tables.text_table import Rows, interactions_of, left_out, read_careful

UNTIMED = "UI2.txt"
_USER = ColumnSpec("user", 0, ColumnKind.TEXT_ID, "user")
_ITEM = ColumnSpec("item", 1, ColumnKind.TEXT_ID, "work")
_VALUE = ColumnSpec("value", 2, ColumnKind.VALUE, "stars")
_TIME = ColumnSpec("time", 3, ColumnKind.SECONDS, "unixtime")


def read(folder: SourceFolder) -> Dataset:
    """The reviews where they are there, as most splits need times; otherwise `UI2.txt`."""
    for name in ("reviews.txt", "reviews.json", UNTIMED):
        if (folder.path / name).exists() or (folder.path / f"{name}.gz").exists():
            text = folder.text(name)
            interactions = _tagged(folder, text) if name == UNTIMED else _reviewed(folder, text)
            return folder.dataset(interactions, Catalogue(interactions.items))
    raise DataError(f"librarything needs reviews.txt or UI2.txt: {folder.source.advice(folder.path)}.")


def _tagged(folder: SourceFolder, text: TextFile) -> Interactions:
    """User, work, twice the rating, tag: one line per tag, of which the first of a pair counts."""
    folder.notes.append(
        f"{text.path.name} has no times: a split by time refuses it; put reviews.txt beside it for one."
    )
    rows = _checked(folder, text, _first_of_pair(text), (_USER, _ITEM, _VALUE))
    return replace(rows, value=rows.value / 2)


def _first_of_pair(text: TextFile) -> Rows:
    seen: set[tuple[str, str]] = set()
    for number, line in ((number, line) for number, line in text.lines() if line.strip()):
        fields = line.split("\t", 3) if "\t" in line else line.split(None, 3)
        if len(fields) < 3:
            yield number, fields
        elif (fields[0], fields[1]) not in seen:
            seen.add((fields[0], fields[1]))
            yield number, fields[:3]


def _reviewed(folder: SourceFolder, text: TextFile) -> Interactions:
    """One Python dictionary per line, perhaps after `reviews[...] = `; reviews without stars are no ratings."""
    silent = [0]
    rows = _checked(folder, text, _rated(text, silent), (_USER, _ITEM, _VALUE, _TIME))
    if silent[0]:
        reviews = "review gives no stars and is" if silent[0] == 1 else "reviews give no stars and are"
        folder.notes.append(f"{text.path.name}: {silent[0]:,} {reviews} left out.")
    return rows


def _rated(text: TextFile, silent: list[int]) -> Rows:
    for number, line in text.lines():
        start = line.find("{")
        if start < 0 or line.rstrip().endswith("= {}"):
            continue  # the line that opens the dictionary of the original program
        try:
            review = ast.literal_eval(line[start:].strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            yield number, None
            continue
        if not isinstance(review, dict) or "user" not in review or "work" not in review:
            yield number, None
        elif review.get("stars") is None:
            silent[0] += 1
        else:
            yield number, [str(review.get(key, "")) for key in ("user", "work", "stars", "unixtime")]


def _checked(folder: SourceFolder, text: TextFile, rows: Rows, columns: tuple[ColumnSpec, ...]) -> Interactions:
    frame, bad = read_careful(text.path, rows, columns, len(columns), False, folder.skip_bad)
    folder.notes.extend(left_out(text.path.name, bad))
    if not len(frame):
        raise DataError(f"{text.path}: the file must hold at least one rating, but has none; get it again.")
    return interactions_of([frame])


LIBRARYTHING = Source(
    "librarything", "LibraryThing book ratings", "M. Clements (UI2.txt); J. McAuley (reviews.txt)",
    "research use; cite Clements et al. (2008) or Zhao et al. (CIKM 2015)",
    "https://cseweb.ucsd.edu/~jmcauley/datasets.html#social_data",
    (side("reviews.txt"), side("reviews.json"), side(UNTIMED)), read,
    how="unpack reviews.txt from lthing_data.tar.gz (https://cseweb.ucsd.edu/~jmcauley/datasets.html), or "
    "UI2.txt of M. Clements where no split needs times,",
)  # fmt: skip
