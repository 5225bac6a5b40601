"""The plain twin of the reader of tables: every field parsed by itself, in Python, as one would define it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from murmura.core.errors import DataError
from murmura.data.tables.column_kinds import (
    DAYS,
    EARLIEST,
    FORMS,
    FURTHEST,
    LONGEST_ID,
    MONTHS,
    UNITS,
    ColumnKind,
    ColumnSpec,
    quoted,
)

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


class BadValueError(ValueError):
    """A field does not hold what its column must; the text is the reason, fit for a count."""


def is_whole(text: str) -> bool:
    """Whether the text is a whole number exactly as Python would write it (no sign +, no leading zero)."""
    return _WHOLE.fullmatch(text) is not None


def number(text: str) -> float:
    """The finite number a field says."""
    if _NUMBER.fullmatch(text):
        value = float(text)
        if isfinite(value):
            return value
        raise BadValueError("not finite")
    raise BadValueError("not finite" if _NOT_FINITE.fullmatch(text) else "unparseable")


_ADVICE = "correct the line or skip bad rows (skip_bad, --skip-bad)"
_TYPES = {
    ColumnKind.NUMBER_ID: pl.Int64,
    ColumnKind.VALUE: pl.Float64,
    ColumnKind.DECIMAL_COMMA: pl.Float64,
    ColumnKind.TEXT_ID: pl.String,
    ColumnKind.LABEL: pl.String,
}


Rows = Iterator[tuple[int, list[str] | None]]  # number and fields of a line; None for fields that are broken


def read_careful(
    path: Path, rows: Rows, columns: tuple[ColumnSpec, ...], width: int, repeats: bool, skip_bad: bool
) -> tuple[pl.DataFrame, Counter[str]]:
    """The good rows and the count of bad ones by reason; without `skip_bad` the first bad row is an error."""
    kept: list[list[Any]] = [[] for _ in columns]
    pairs: dict[tuple[Any, Any], int] = {}
    bad: Counter[str] = Counter()
    for line, fields in rows:
        try:
            row = _row(fields, columns, width)
            if not repeats:
                _once(row, line, pairs)
        except BadRowError as problem:
            if not skip_bad:
                raise DataError(f"{path}, line {line}: {problem.sentence}; {_ADVICE}.") from None
            bad[problem.reason] += 1
            continue
        for column, value in zip(kept, row):
            column.append(value)
    schema = {column.part: _TYPES.get(column.kind, pl.Int64) for column in columns}
    return pl.DataFrame(dict(zip(schema, kept)), schema=schema), bad


class BadRowError(ValueError):
    """A row cannot be used: the reason it is counted under, and the sentence about it."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence


def _row(fields: list[str] | None, columns: tuple[ColumnSpec, ...], width: int) -> list[Any]:
    if fields is None:
        raise BadRowError("broken line", "a line must be cut into fields by its quotes, but this one is broken")
    if len(fields) != width:
        raise BadRowError(
            "wrong number of fields", f"a row must have {width} fields, but this has {len(fields)}"
        )
    return [_field(column, fields[column.place]) for column in columns]


def _field(column: ColumnSpec, field: str) -> Any:
    try:
        if not field and column.kind is not ColumnKind.LABEL:
            raise BadValueError("empty")
        return parse(column.kind, field)
    except BadValueError as error:
        reason = str(error) if column.part in str(error) else f"{error} {column.part}"
        must = f"the {column.part} ({quoted(column.title)}) must be {column.kind.value}"
        raise BadRowError(reason, f"{must}, but is {quoted(field)}") from None


def _once(row: list[Any], line: int, pairs: dict[tuple[Any, Any], int]) -> None:
    first = pairs.setdefault((row[0], row[1]), line)
    if first != line:
        pair = f"user {quoted(str(row[0]))} and item {quoted(str(row[1]))}"
        raise BadRowError("duplicate pair", f"{pair} must meet once, but they already met in line {first}")


def parse(kind: ColumnKind, text: str) -> str | int | float:
    """The value of a field, by the one definition of each kind; the fast path is tested against it."""
    return _PARSERS[kind](text)


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


def _parsed(kind: ColumnKind, text: str) -> int:
    return parse_time(kind, text)


_PARSERS: dict[ColumnKind, Callable[[str], str | int | float]] = {
    ColumnKind.NUMBER_ID: _number_id,
    ColumnKind.TEXT_ID: _text_id,
    ColumnKind.LABEL: str,
    ColumnKind.VALUE: number,
    ColumnKind.DECIMAL_COMMA: lambda text: number(text.replace(",", ".", 1)),
    **{kind: partial(_parsed, kind) for kind in (*UNITS, *FORMS)},
}


_COMPILED = {kind: re.compile(form, re.ASCII) for kind, form in FORMS.items()}


def parse_time(kind: ColumnKind, text: str) -> int:
    """The seconds since 1970 that a field means."""
    return _counted(kind, text) if kind in UNITS else _dated(kind, text)


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
