"""The unusual case: a file with something wrong, read line by line, to say what and where."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from murmura.core.errors import DataError
from murmura.data.tables.text_file import TextFile
from murmura.data.tables.text_layout import (
    LONGEST_ID,
    BadValueError,
    ColumnKind,
    ColumnSpec,
    TextLayout,
    is_whole,
    number,
    quoted,
)
from murmura.data.tables.times import FORMS, UNITS, parse_time

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


def lines(text: TextFile, layout: TextLayout) -> Rows:
    """The lines of a file that are not blank, cut as the layout says."""
    rows = _quoted(text, layout) if layout.quoted else _plain(text, layout)
    if layout.header:
        next(rows, None)
    return rows


def _plain(text: TextFile, layout: TextLayout) -> Rows:
    for place, line in enumerate(_decoded(text), 1):
        line = line.removesuffix("\n").removesuffix("\r")
        if line:
            yield place, line.split(layout.separator)


def _decoded(text: TextFile) -> Iterator[str]:
    return (line.decode() for line in io.BytesIO(text.content))


def _quoted(text: TextFile, layout: TextLayout) -> Rows:
    reader = csv.reader(_decoded(text), delimiter=layout.separator, strict=True)
    while True:
        first = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield first, None
            continue
        if fields:
            yield first, fields


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


_PARSERS: dict[ColumnKind, Callable[[str], str | int | float]] = {
    ColumnKind.NUMBER_ID: _number_id,
    ColumnKind.TEXT_ID: _text_id,
    ColumnKind.LABEL: str,
    ColumnKind.VALUE: number,
    ColumnKind.DECIMAL_COMMA: lambda text: number(text.replace(",", ".", 1)),
    **{kind: partial(parse_time, kind) for kind in (*UNITS, *FORMS)},
}
