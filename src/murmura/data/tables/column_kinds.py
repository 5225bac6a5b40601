"""What the columns of a table hold, and what their fields mean: ids, numbers, and times in every usual form.

Times are numbers since 1970 in several units, and dates; all are UTC. Each form of a date is one regular
expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

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
    # part -> the header's name, or the place in a file without header
    names: Mapping[str, str | int] = field(default_factory=dict)
    kinds: Mapping[str, ColumnKind | None] = field(default_factory=dict)  # None: find out from the content
    header: bool = False  # whether the first row names the columns
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


EARLIEST = 315_532_800  # seconds: the beginning of 1980, before which nobody counted in milliseconds
ORDER_ONLY = EARLIEST  # numbers that end before it are hardly dates: they number rows
# how many of a unit are a second, the coarsest first
UNITS = {
    ColumnKind.SECONDS: 1,
    ColumnKind.MILLISECONDS: 10**3,
    ColumnKind.MICROSECONDS: 10**6,
    ColumnKind.NANOSECONDS: 10**9,
}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_SIXTY = "[0-5][0-9]"
_CLOCK = rf"(?P<hour>[0-9]{{1,2}}):(?P<minute>{_SIXTY})(?::(?P<second>{_SIXTY})(?:[.,][0-9]+)?)?"
_ZONE = r"(?: ?(?:Z|UTC|(?P<sign>[+-])(?P<zone_hour>[0-9]{2}):?(?P<zone_minute>[0-9]{2})))?"
_HALF = r"(?: ?(?P<half>[AaPp])[Mm])?"
_DAY, _MONTH, _YEAR = r"(?P<day>[0-9]{1,2})", r"(?P<month>[0-9]{1,2})", r"(?P<year>[0-9]{4})"
_LATER = rf"(?:,? {_CLOCK}{_HALF})?"
FORMS: dict[ColumnKind, str] = {
    ColumnKind.CHECK_IN: rf"(?P<weekday>{'|'.join(DAYS)}) (?P<name>{'|'.join(MONTHS)}) "
    rf"(?P<day>[0-9]{{2}}) (?P<hour>[0-9]{{2}}):(?P<minute>{_SIXTY}):(?P<second>{_SIXTY}) \+0000 {_YEAR}",
    ColumnKind.ISO: rf"{_YEAR}[-/](?P<month>[0-9]{{2}})[-/](?P<day>[0-9]{{2}})(?:[T ]{_CLOCK}{_ZONE})?",
    ColumnKind.COMPACT: r"(?P<year>(?:19|20)[0-9]{2})(?P<month>[0-9]{2})(?P<day>[0-9]{2})",
    ColumnKind.DAY_FIRST: rf"{_DAY}[./-]{_MONTH}[./-]{_YEAR}{_LATER}",
    ColumnKind.MONTH_FIRST: rf"{_MONTH}[./-]{_DAY}[./-]{_YEAR}{_LATER}",
}


def times_of(series: pl.Series, kind: ColumnKind) -> pl.Series:
    """The seconds since 1970 that a column of text means; a gap where a field is no such time."""
    times = moments_of(series, kind)
    first = EARLIEST if UNITS.get(kind, 1) > 1 else 0
    return times.set((times < first) | (times >= FURTHEST), None)


def moments_of(series: pl.Series, kind: ColumnKind) -> pl.Series:
    """The same, also of times that are too early or too late."""
    if kind not in UNITS:
        return _dated(series, kind)
    whole = whole_of(series) // UNITS[kind]
    if not whole.null_count():
        return whole
    counted = (numbers_of(series) // UNITS[kind]).clip(-1, FURTHEST).cast(pl.Int64)
    return pl.select(pl.coalesce(whole, counted)).to_series()


def in_seconds(series: pl.Series) -> tuple[pl.Series, ColumnKind]:
    """A column of numbers, in the unit that most of them are of, as seconds; and which unit that is."""
    positive = series.filter(series > 0).sort()
    kind = unit_of(positive[(len(positive) - 1) // 2] if len(positive) else 0)
    seconds = series if UNITS[kind] == 1 else series // UNITS[kind]
    whole = seconds.floor() if seconds.dtype.is_float() else seconds
    return whole.cast(pl.Int64, strict=False), kind


def unit_of(middle: float) -> ColumnKind:
    """The unit in which a number is before the year 2100, the coarsest first."""
    return next((kind for kind, unit in UNITS.items() if middle < FURTHEST * unit), ColumnKind.NANOSECONDS)


def kind_of_times(fields: pl.Series) -> ColumnKind:
    """What most of these fields are; day before month where nothing says which comes first."""
    fitting = {kind: times_of(fields, kind).count() for kind in FORMS}
    best = max(fitting, key=lambda kind: fitting[kind])
    numbers = numbers_of(fields).drop_nulls().sort()
    if len(numbers) > fitting[best]:
        return unit_of(numbers[(len(numbers) - 1) // 2])
    return best if fitting[best] else ColumnKind.SECONDS


def tells_day_from_month(kind: ColumnKind, fields: pl.Series) -> bool:
    """Whether a column of dates can be read in one way only: by its dots, or by a number above 12."""
    if kind not in (ColumnKind.DAY_FIRST, ColumnKind.MONTH_FIRST):
        return True
    other = ColumnKind.MONTH_FIRST if kind is ColumnKind.DAY_FIRST else ColumnKind.DAY_FIRST
    one_way = times_of(fields, kind).is_not_null() & times_of(fields, other).is_null()
    return bool((one_way | fields.str.slice(0, 3).str.contains(".", literal=True)).any())


def time_sentence(kind: ColumnKind, times: pl.Series) -> str:
    """How a column of times was understood, with the first and the last day of it."""
    first, last = int(times.min() or 0), int(times.max() or 0)  # type: ignore[arg-type]
    if kind is ColumnKind.SECONDS and last < ORDER_ONLY:
        return f"times are numbers from {first:,} to {last:,}, too small for dates: they only order the rows"
    days = " to ".join(datetime.fromtimestamp(one, UTC).strftime("%Y-%m-%d") for one in (first, last))
    what = kind.value.replace("a date", "dates", 1).partition(", of the years")[0]
    return f"times are {what} ({days}, UTC)"


def _dated(series: pl.Series, kind: ColumnKind) -> pl.Series:
    part = series.str.extract_groups(f"^(?:{FORMS[kind]})$").struct.unnest()

    def of(name: str, missing: str = "00") -> pl.Expr:
        known = pl.col(name) if name in part.columns else pl.lit(None, pl.String)
        return known.fill_null(missing).str.zfill(2)

    numbers = dict(zip(MONTHS, (f"{month:02d}" for month in range(1, 13))))
    month = pl.col("name").replace_strict(numbers, default=None) if "name" in part.columns else of("month")
    day = pl.concat_str(pl.col("year"), month, of("day"), separator="-")
    clock = pl.concat_str(_hours(of("hour"), of("half", "")), of("minute"), of("second"), separator=":")
    away = of("zone_hour").cast(pl.Int64) * 3600 + of("zone_minute").cast(pl.Int64) * 60
    moment = pl.concat_str(day, clock, separator=" ").str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False)
    possible = pl.col("year") != "0000"
    if "weekday" in part.columns:
        possible &= moment.dt.strftime("%a") == pl.col("weekday")
    offset = pl.when(of("sign", "").str.contains("-")).then(-away).otherwise(away)
    seconds = moment.dt.epoch("s").cast(pl.Int64) - offset
    return part.select(pl.when(possible).then(seconds)).to_series()


def _hours(hour: pl.Expr, half: pl.Expr) -> pl.Expr:
    """The hour from 0 to 23; 25, which no day has, where AM or PM says nothing."""
    number = hour.cast(pl.Int64)
    later = number % 12 + pl.when(half.str.contains("[Pp]")).then(12).otherwise(0)
    of_half = pl.when(number.is_between(1, 12)).then(later).otherwise(25)
    known = pl.when(half.str.contains("[AaPp]")).then(of_half).otherwise(number)
    return known.cast(pl.String).str.zfill(2)


def values_of(series: pl.Series, kind: ColumnKind) -> pl.Series:
    """What the fields of a column mean; a gap where one is not what the column must hold."""
    if kind is ColumnKind.LABEL:
        return series
    if kind is ColumnKind.TEXT_ID:
        bad = ~series.str.len_chars().is_between(1, LONGEST_ID)
        return series.set(bad, None) if bad.any() else series
    if kind is ColumnKind.NUMBER_ID:
        return whole_of(series)
    if kind is ColumnKind.VALUE:
        return numbers_of(series)
    if kind is ColumnKind.DECIMAL_COMMA:
        return numbers_of(series.str.replace(",", ".", literal=True))
    return times_of(series, kind)


def reasons_of(series: pl.Series, kind: ColumnKind) -> pl.Series:
    """Why fields are not what their column must hold, of those that are not."""
    checks = [(series == "", "empty")]
    if kind is ColumnKind.TEXT_ID:
        checks.append((series.is_not_null(), "too long"))
    if kind in UNITS or kind in FORMS:
        seconds = moments_of(series, kind)
        checks += [(seconds < 0, "negative time"), (seconds >= FURTHEST, "time too large")]
        checks.append((seconds.is_not_null(), "time too small"))
    if kind not in FORMS and kind is not ColumnKind.NUMBER_ID:
        plain = series.str.replace(",", ".", literal=True) if kind is ColumnKind.DECIMAL_COMMA else series
        checks.append((plain.str.contains(f"{_NUMBER}|^(?i)[+-]?(nan|inf|infinity)$"), "not finite"))
    return pl.select(first_reason([*checks, (series.is_not_null(), "unparseable")])).to_series()


def first_reason(checks: Iterable[tuple[Any, str]]) -> pl.Expr:
    """For each row the reason of the first check that finds something."""
    return pl.coalesce(*(pl.when(there).then(pl.lit(reason)) for there, reason in checks))
