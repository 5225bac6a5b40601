"""How the rows of a text file are laid out, and what each of its columns must hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from math import isfinite

LONGEST_ID = 255  # characters; one endless id would widen the column of everybody's
SHOWN, MANY = 40, 12  # how many characters of a field, and how many columns, an error repeats
FURTHEST = 2**53  # seconds; beyond it a floating point time no longer counts single seconds

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_CHECK_IN = re.compile(r"(\w{3}) (\w{3}) (\d\d) (\d\d):(\d\d):(\d\d) \+0000 (\d{4})", re.ASCII)
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d))?", re.ASCII)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class ColumnKind(Enum):
    """What a column holds; the value says what a field of it must be."""

    NUMBER_ID = "a whole number"
    TEXT_ID = f"a text of 1 to {LONGEST_ID} characters"
    LABEL = "a text"
    VALUE = "a finite number"
    SECONDS = "seconds since 1970"
    CHECK_IN = "a date like 'Tue Apr 03 18:20:27 +0000 2012'"
    ISO = "a date like '2012-04-03 18:20:27'"


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


class BadValueError(ValueError):
    """A field does not hold what its column must; the text is the reason, fit for a count."""


def parse(kind: ColumnKind, text: str) -> str | int | float:
    """The value of a field, by the one definition of each kind; the fast path is tested against it."""
    return _PARSERS[kind](text)


def quoted(text: str) -> str:
    """A field as an error repeats it: in quotes, on one line, not too long."""
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def quoted_names(names: list[str]) -> str:
    """The columns of a table as an error repeats them."""
    first = ", ".join(quoted(name) for name in names[:MANY])
    return (first + ", …" if len(names) > MANY else first) or "none"


def is_whole(text: str) -> bool:
    """Whether the text is a whole number exactly as Python would write it (no sign +, no leading zero)."""
    return _WHOLE.fullmatch(text) is not None


def _number_id(text: str) -> int:
    if not is_whole(text):
        raise BadValueError("unparseable")
    return int(text)


def _text_id(text: str) -> str:
    if not text:
        raise BadValueError("empty")
    if len(text) > LONGEST_ID:
        raise BadValueError("too long")
    return text


def _value(text: str) -> float:
    if _NUMBER.fullmatch(text):
        number = float(text)
        if isfinite(number):
            return number
        raise BadValueError("not finite")
    raise BadValueError("not finite" if _NOT_FINITE.fullmatch(text) else "unparseable")


def _seconds(text: str) -> int:
    number = int(text) if is_whole(text) else _value(text)
    if number < 0:
        raise BadValueError("negative time")
    if number >= FURTHEST:
        raise BadValueError("time too large")
    return int(number)


def _check_in(text: str) -> int:
    found = _CHECK_IN.fullmatch(text)
    if found is None or found[1] not in DAYS or found[2] not in MONTHS:
        raise BadValueError("unparseable")
    month = MONTHS.index(found[2]) + 1
    moment = _moment(*(int(x) for x in (found[7], month, found[3], found[4], found[5], found[6])))
    if moment.weekday() != DAYS.index(found[1]):
        raise BadValueError("unparseable")
    return _since_1970(moment)


def _iso(text: str) -> int:
    found = _ISO.fullmatch(text)
    if found is None:
        raise BadValueError("unparseable")
    return _since_1970(_moment(*(int(x or 0) for x in found.groups())))


def _moment(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime:
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise BadValueError("unparseable") from None


def _since_1970(moment: datetime) -> int:
    seconds = int(moment.timestamp())
    if seconds < 0:
        raise BadValueError("negative time")
    return seconds


_PARSERS: dict[ColumnKind, Callable[[str], str | int | float]] = {
    ColumnKind.NUMBER_ID: _number_id,
    ColumnKind.TEXT_ID: _text_id,
    ColumnKind.LABEL: str,
    ColumnKind.VALUE: _value,
    ColumnKind.SECONDS: _seconds,
    ColumnKind.CHECK_IN: _check_in,
    ColumnKind.ISO: _iso,
}
