"""How the rows of a text file are laid out, and what each of its columns must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import polars as pl

LONGEST_ID = 255  # characters; one endless id would widen the column of everybody's
SHOWN, MANY = 40, 12  # how many characters of a field, and how many columns, an error repeats
FURTHEST = 4_102_444_800  # seconds: the year 2100, from which on a time is a mistake

WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


class ColumnKind(Enum):
    """What a column holds; the value says what a field of it must be."""

    NUMBER_ID = "a whole number"
    TEXT_ID = f"a text of 1 to {LONGEST_ID} characters"
    LABEL = "a text"
    VALUE = "a finite number"
    DECIMAL_COMMA = "a finite number with a decimal comma"
    SECONDS = "seconds since 1970"
    CHECK_IN = "a date like 'Tue Apr 03 18:20:27 +0000 2012'"
    ISO = "a date like '2012-04-03 18:20:27'"
    MILLISECONDS = "milliseconds since 1970, of the years 1980 to 2099"
    MICROSECONDS = "microseconds since 1970, of the years 1980 to 2099"
    NANOSECONDS = "nanoseconds since 1970, of the years 1980 to 2099"
    COMPACT = "a date like '20120403'"
    DAY_FIRST = "a date like '30.04.2012 18:20', the day first"
    MONTH_FIRST = "a date like '04/30/2012 18:20', the month first"


@dataclass(frozen=True)
class ColumnSpec:
    """One column that is read: its part (user, item, value, time, category), its place in a row, its kind."""

    part: str
    place: int
    kind: ColumnKind
    title: str


@dataclass(frozen=True)
class TextLayout:
    """How a file is cut into rows and fields, before its header is known."""

    separator: str
    names: Mapping[str, str | int]  # part -> the header's name, or the place in a file without header
    kinds: Mapping[str, ColumnKind | None] = field(default_factory=dict)  # None: find out from the content
    header: bool = True
    width: int = 0  # fields in a row of a file without header
    quoted: bool = False
    encoding: str = "utf-8"
    repeats: bool = False  # whether a user may meet an item in several rows


def quoted(text: str) -> str:
    """A field as an error repeats it: in quotes, on one line, not too long."""
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def quoted_names(names: list[str]) -> str:
    """The columns of a table as an error repeats them."""
    first = ", ".join(quoted(name) for name in names[:MANY])
    return (first + ", …" if len(names) > MANY else first) or "none"


def whole_of(series: pl.Series) -> pl.Series:
    """The whole numbers that a column of text says; a gap where one is not as Python would write it."""
    return series.cast(pl.Int64, strict=False).set(~series.str.contains(WHOLE), None)


def is_whole(series: pl.Series) -> bool:
    """Whether every id of a text column is a whole number in its one canonical form."""
    return bool(series.str.contains(WHOLE).all())


def numbers_of(series: pl.Series) -> pl.Series:
    """The finite numbers that a column of text says; a gap where a field is none."""
    numbers = series.cast(pl.Float64, strict=False)
    return numbers.set(~(series.str.contains(_NUMBER) & numbers.is_finite()), None)


def says_a_number(series: pl.Series) -> pl.Series:
    """Where a field says a number, finite or not."""
    return series.str.contains(_NUMBER) | series.str.contains("^(?i)[+-]?(nan|inf|infinity)$")
