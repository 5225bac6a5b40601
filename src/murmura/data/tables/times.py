"""Times as files have them: numbers since 1970 in several units, and dates in the usual forms. All are UTC.

Each form of a date is one regular expression, which the careful reader and the fast one share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from statistics import median_low

import polars as pl

from murmura.data.tables.text_layout import FURTHEST, BadValueError, ColumnKind, is_whole, number

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
_COMPILED = {kind: re.compile(form, re.ASCII) for kind, form in FORMS.items()}


def parse_time(kind: ColumnKind, text: str) -> int:
    """The seconds since 1970 that a field means."""
    return _counted(kind, text) if kind in UNITS else _dated(kind, text)


def times_of(series: pl.Series, kind: ColumnKind) -> pl.Series | None:
    """The same for a whole column of text; None when a field of it looks wrong."""
    times = _many_counted(series, kind) if kind in UNITS else _many_dated(series, kind)
    if times is None or times.null_count():
        return None
    return times if ((times >= _first(kind)) & (times < FURTHEST)).all() else None


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


def kind_of_times(fields: Sequence[str]) -> ColumnKind:
    """What most of these fields are; day before month where nothing says which comes first."""
    fitting = {kind: sum(_fits(kind, one) for one in fields) for kind in FORMS}
    best = max(fitting, key=lambda kind: fitting[kind])
    numbers = [value for one in fields if (value := _as_number(one)) is not None]
    if len(numbers) > fitting[best]:
        return unit_of(median_low(numbers))
    return best if fitting[best] else ColumnKind.SECONDS


def tells_day_from_month(kind: ColumnKind, fields: Iterable[str]) -> bool:
    """Whether a column of dates can be read in one way only: by its dots, or by a number above 12."""
    if kind not in (ColumnKind.DAY_FIRST, ColumnKind.MONTH_FIRST):
        return True
    other = ColumnKind.MONTH_FIRST if kind is ColumnKind.DAY_FIRST else ColumnKind.DAY_FIRST
    return any("." in one[:3] or (_fits(kind, one) and not _fits(other, one)) for one in fields)


def time_sentence(kind: ColumnKind, times: pl.Series) -> str:
    """How a column of times was understood, with the first and the last day of it."""
    first, last = int(times.min() or 0), int(times.max() or 0)  # type: ignore[arg-type]
    if kind is ColumnKind.SECONDS and last < ORDER_ONLY:
        return f"times are numbers from {first:,} to {last:,}, too small for dates: they only order the rows"
    days = " to ".join(datetime.fromtimestamp(one, UTC).strftime("%Y-%m-%d") for one in (first, last))
    what = kind.value.replace("a date", "dates", 1).partition(", of the years")[0]
    return f"times are {what} ({days}, UTC)"


def _counted(kind: ColumnKind, text: str) -> int:
    value = int(text) if is_whole(text) else number(text)
    if value < 0:
        raise BadValueError("negative time")
    seconds = int(value // UNITS[kind])
    if seconds >= FURTHEST:
        raise BadValueError("time too large")
    if seconds < _first(kind):
        raise BadValueError("time too small")
    return seconds


def _first(kind: ColumnKind) -> int:
    return EARLIEST if UNITS.get(kind, 1) > 1 else 0


def _dated(kind: ColumnKind, text: str) -> int:
    found = _COMPILED[kind].fullmatch(text)
    if found is None:
        raise BadValueError("unparseable")
    part = found.groupdict()
    month = MONTHS.index(part["name"]) + 1 if part.get("name") else int(part["month"])
    hour = _of_day(int(part.get("hour") or 0), part.get("half"))
    clock = (hour, int(part.get("minute") or 0), int(part.get("second") or 0))
    try:
        moment = datetime(int(part["year"]), month, int(part["day"]), *clock, tzinfo=UTC)
    except ValueError:
        raise BadValueError("unparseable") from None
    if part.get("weekday") and moment.weekday() != DAYS.index(part["weekday"]):
        raise BadValueError("unparseable")
    seconds = int(moment.timestamp()) - _offset(part)
    if seconds < 0:
        raise BadValueError("negative time")
    if seconds >= FURTHEST:
        raise BadValueError("time too large")
    return seconds


def _of_day(hour: int, half: str | None) -> int:
    """The hour from 0 to 23; 25, which no day has, where AM or PM says nothing."""
    if half is None:
        return hour
    return 25 if not 1 <= hour <= 12 else hour % 12 + (12 if half in "Pp" else 0)


def _offset(part: dict[str, str | None]) -> int:
    if not part.get("sign"):
        return 0
    away = int(part["zone_hour"] or 0) * 3600 + int(part["zone_minute"] or 0) * 60
    return -away if part["sign"] == "-" else away


def _many_counted(series: pl.Series, kind: ColumnKind) -> pl.Series | None:
    if series.str.contains(r"^(0|-?[1-9][0-9]{0,17})$").all():
        return series.cast(pl.Int64, strict=False) // UNITS[kind]
    numbers = series.cast(pl.Float64, strict=False)
    plain = series.str.contains(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$").all()
    if not plain or numbers.null_count() or not numbers.is_finite().all() or (numbers < 0).any():
        return None
    return (numbers // UNITS[kind]).cast(pl.Int64, strict=False)


def _many_dated(series: pl.Series, kind: ColumnKind) -> pl.Series | None:
    part = series.str.extract_groups(f"^(?:{FORMS[kind]})$").struct.unnest()
    if part["year"].null_count():
        return None

    def of(name: str, missing: str = "00") -> pl.Expr:
        known = pl.col(name) if name in part.columns else pl.lit(None, pl.String)
        return known.fill_null(missing).str.zfill(2)

    numbers = dict(zip(MONTHS, (f"{month:02d}" for month in range(1, 13))))
    month = pl.col("name").replace_strict(numbers) if "name" in part.columns else of("month")
    day = pl.concat_str(pl.col("year"), month, of("day"), separator="-")
    clock = pl.concat_str(_hours(of("hour"), of("half", "")), of("minute"), of("second"), separator=":")
    away = of("zone_hour").cast(pl.Int64) * 3600 + of("zone_minute").cast(pl.Int64) * 60
    found = part.select(
        moment=pl.concat_str(day, clock, separator=" ").str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False),
        offset=pl.when(of("sign", "").str.contains("-")).then(-away).otherwise(away),
    )
    if "weekday" in part.columns and not (found["moment"].dt.strftime("%a") == part["weekday"]).all():
        return None
    return found["moment"].dt.epoch("s").cast(pl.Int64) - found["offset"]


def _hours(hour: pl.Expr, half: pl.Expr) -> pl.Expr:
    """`_of_day` for a column."""
    number = hour.cast(pl.Int64)
    later = number % 12 + pl.when(half.str.contains("[Pp]")).then(12).otherwise(0)
    of_half = pl.when(number.is_between(1, 12)).then(later).otherwise(25)
    known = pl.when(half.str.contains("[AaPp]")).then(of_half).otherwise(number)
    return known.cast(pl.String).str.zfill(2)


def _fits(kind: ColumnKind, text: str) -> bool:
    try:
        _dated(kind, text)
    except BadValueError:
        return False
    return True


def _as_number(text: str) -> float | None:
    try:
        return number(text)
    except BadValueError:
        return None
