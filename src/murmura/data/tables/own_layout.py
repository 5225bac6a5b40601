"""Which column of one's own table is which: as given, by its header, or by the order of its columns."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import polars as pl
from pydantic import Field, model_validator

from murmura.core.errors import DataError, SettingError
from murmura.core.settings import Flag, settings
from murmura.data.repeats import DuplicateRule
from murmura.data.tables.column_kinds import (
    EARLIEST,
    FORMS,
    TextLayout,
    kind_of_times,
    numbers_of,
    quoted,
    quoted_names,
)
from murmura.data.tables.dialect import (
    BY_SUFFIX,
    GUESSES,
    PARTS,
    Dialect,
    dialect_of,
    missing,
    named,
    show_lines,
    tidied,
)
from murmura.data.tables.text_file import TextFile
from murmura.data.tables.text_table import DECIMAL_COMMA

MOST = 4  # columns without names whose order says enough: user, item, value, time


def parse_columns(text: str) -> dict[str, str]:
    """`user=a,item=b`: parts of a table to the names of its columns."""
    columns = {}
    for one in filter(None, text.split(",")):
        part, _, name = one.partition("=")
        if not name.strip():
            raise SettingError(
                f"--columns must be PART=NAME, but has '{one}'; write for example user=customer."
            )
        columns[part.strip()] = name.strip()
    return columns


@settings
class TableReading:
    """What was said about a table; what is None is found out."""

    # For a file: user=a,item=b,value=c,time=d; or places from 1.
    columns: Annotated[dict[str, str], Flag(metavar="PART=NAME[,..]", read=parse_columns)] = Field(
        default_factory=dict
    )
    # For a text file: what separates fields; default: found out.
    separator: Annotated[str | None, Flag()] = Field(default=None, min_length=1)
    # For a text file: its first line names columns, or not.
    header: Annotated[bool | None, Flag()] = None
    # For a file: rows of a pair met again; default keep, for the protocol's rule.
    repeats: Annotated[DuplicateRule, Flag()] = "keep"
    # Keep the good rows of a file, report the others.
    skip_bad: Annotated[bool, Flag()] = False

    @model_validator(mode="before")
    @classmethod
    def _places_are_text(cls, given: Any) -> Any:
        """A place may be written as a number: `columns: {user: 1}`."""
        values = getattr(given, "kwargs", given)
        columns = values.get("columns") if isinstance(values, dict) else None
        if isinstance(columns, dict):
            values["columns"] = {key: str(name) for key, name in columns.items()}
        return given

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        unknown = sorted(set(self.columns) - set(PARTS))
        if unknown:
            raise SettingError(
                f"columns must name {', '.join(PARTS)}, but names '{unknown[0]}'; leave that out."
            )
        return self


@dataclass(frozen=True)
class OwnLayout:
    """The file as it is read, how it is cut, what its columns are called, and what to say about that."""

    text: TextFile
    layout: TextLayout
    names: Mapping[str, str]  # part -> the header's name, or the place from 1
    said: str  # "" where everything is as usual


def own_layout(given: TextFile, reading: TableReading) -> OwnLayout:
    """Which column is which, and how the file is cut; an unclear file is refused with its first lines."""
    if given.content.lstrip()[:1] in (b"[", b"{"):
        raise DataError(
            f"{given.path}: the file must be a table, but it looks like JSON; write it as CSV or Parquet, or "
            "give its rows as a frame (murmura.from_frame)."
        )
    text, stated = tidied(given)
    dialect = dialect_of(text, reading.separator or stated, reading.header)
    if max(len(row) for row in dialect.rows) < 2:
        raise DataError(
            f"{text.path}: a row must have a user and an item, but its rows have one field; say what "
            f"stands between fields (--separator).\n{show_lines(text)}"
        )
    if dialect.headed:
        names = named(dialect.header, _places(reading.columns, dialect.header))
        require_names(text, dialect.header, names)
        places: dict[str, str | int] = {**names}
    else:
        names = _by_place(text, dialect, reading.columns)
        places = {part: int(name) - 1 for part, name in names.items()}
    layout = TextLayout(
        dialect.separator, places, header=dialect.headed, width=len(dialect.rows[0]), quoted=dialect.quoted,
        repeats=reading.repeats != "refuse",
    )  # fmt: skip
    return OwnLayout(text, layout, names, _said(text, dialect, names, reading.columns))


def require_names(where: TextFile | str, header: Sequence[str], names: Mapping[str, str]) -> None:
    """Refuse a table whose user or item is unclear, with a guess to give back."""
    lacking = missing(names)
    if not lacking:
        return
    free = [name for name in header if name and name not in names.values()]
    guess = {**names, **dict(zip(lacking, free))}
    said = shlex.quote(",".join(f"{part}={guess[part]}" for part in PARTS if part in guess))
    path, lines = (where, "") if isinstance(where, str) else (where.path, f"\n{show_lines(where)}")
    raise DataError(
        f"{path}: it must be clear which column is the {' and which the '.join(lacking)}, but the columns are "
        f"{quoted_names(list(header))}; say it, perhaps with --columns {said}{lines and '.'}{lines or '.'}"
    )


def said_columns(names: Mapping[str, str], columns: Mapping[str, str], header: Sequence[str] = ()) -> str:
    """Which column was taken for what, and which for nothing; "" where names or `columns` say it."""
    if set(names) <= set(columns) or all(name in GUESSES[part] for part, name in names.items()):
        return ""
    taken = ", ".join(f"{part} is {quoted(name)}" for part, name in names.items())
    unused = [name for name in header if name and name not in names.values()]
    return taken + (f"; not used: {quoted_names(unused)}" if unused else "")


def _places(columns: Mapping[str, str], header: Sequence[str]) -> dict[str, str]:
    """Names as given; a place from 1, where no column is called like that, is the name of its column."""
    return {
        part: header[int(name) - 1]
        if name not in header and name.isdecimal() and 0 < int(name) <= len(header)
        else name
        for part, name in columns.items()
    }


def _by_place(text: TextFile, dialect: Dialect, columns: Mapping[str, str]) -> dict[str, str]:
    """The places, from 1, of a table without header: as given, or user, item, value, time by what they hold."""
    width = len(dialect.rows[0])
    for part, name in columns.items():
        if not name.isdecimal() or not 0 < int(name) <= width:
            raise DataError(
                f"{text.path}: without header, columns must be places from 1 to {width}, but the {part} is "
                f"{quoted(name)}; write for example --columns user=1,item=2, or --header.\n{show_lines(text)}"
            )
    if columns and not missing(columns):
        return dict(columns)
    guess = dict(columns)
    free = [place for place in range(width) if str(place + 1) not in columns.values()]
    for part in missing(columns):
        guess[part] = str(free.pop(0) + 1)
    for place in free:
        held = _held([row[place] for row in dialect.rows if place < len(row)])
        if held and held not in guess:
            guess[held] = str(place + 1)
    if width > MOST:
        guessed = ",".join(f"{part}={place}" for part, place in guess.items())
        raise DataError(
            f"{text.path}: a table without header must have user, item, value, time or its columns named, but "
            f"it has {width}; say which is which, perhaps with --columns {guessed}.\n{show_lines(text)}"
        )
    return guess


def _held(fields: Sequence[str]) -> str | None:
    """Whether these are times or values; None: they are neither."""
    column = pl.Series(fields, dtype=pl.String)
    if kind_of_times(column) in FORMS:
        return "time"
    numbers = numbers_of(column.str.replace(DECIMAL_COMMA, "$1.$2"))
    if numbers.null_count() or not len(numbers):
        return None
    return "time" if (numbers >= EARLIEST).all() else "value"


def _said(text: TextFile, dialect: Dialect, names: Mapping[str, str], columns: Mapping[str, str]) -> str:
    """What is not as anybody would expect of such a file."""
    parts = []
    if not dialect.headed:
        parts.append(f"it has no header: {', '.join(f'{part} is column {at}' for part, at in names.items())}")
    elif said := said_columns(names, columns, dialect.header):
        parts.append(said)
    by_name = next((BY_SUFFIX[s] for s in text.path.suffixes if s in BY_SUFFIX), None)
    if by_name is not None and dialect.separator != by_name:
        parts.append(f"fields are separated by {quoted(dialect.separator)}")
    return "; ".join(parts)
