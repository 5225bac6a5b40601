"""Columns of text become values: what a field means, and why it means nothing. Clean files are cut here too.

Whatever looks wrong when a whole file is cut is only a suspicion: the answer is then None, and it is cut line
by line (`line_reader`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from murmura.data.tables.text_file import TextFile
from murmura.data.tables.text_layout import (
    FURTHEST,
    LONGEST_ID,
    ColumnKind,
    ColumnSpec,
    TextLayout,
    numbers_of,
    says_a_number,
    whole_of,
)
from murmura.data.tables.times import FORMS, UNITS, moments_of, times_of

_STAND_IN = "\x1f"  # a separator of several characters becomes this one before polars sees it


def read_fast(
    text: TextFile, layout: TextLayout, columns: tuple[ColumnSpec, ...], width: int
) -> pl.DataFrame | None:
    """The checked columns of a clean file, named by their part; None when anything looks wrong."""
    content = text.content.lstrip(b"\r\n")
    if content.endswith((b"\n\n", b"\n\r\n")):
        content = content.rstrip(b"\r\n")
    separator = layout.separator
    quoted = layout.quoted and b'"' in content
    if layout.quoted and content.count(b"\r") != content.count(b"\r\n"):
        return None
    if quoted and not _well_quoted(content, separator):
        return None
    if len(separator) > 1:
        if _STAND_IN.encode() in content:
            return None
        content = content.replace(separator.encode(), _STAND_IN.encode())
        separator = _STAND_IN
    raw = _raw(content, separator, width, int(layout.header), '"' if quoted else None)
    if raw is None or any(raw[name].null_count() for name in _needed(raw, columns)):
        return None
    values = [values_of(raw[_field(one.place)], one.kind).alias(one.part) for one in columns]
    return None if any(one.null_count() for one in values) else pl.DataFrame(values)


def _well_quoted(content: bytes, separator: str) -> bool:
    """Whether every quote opens a field at its start or closes it at its end: then all readers agree."""
    text = np.frombuffer(content, np.uint8)
    place = np.flatnonzero(text == ord('"'))
    opening, closing = place[::2], place[1::2]
    if len(opening) != len(closing):
        return False
    before = np.isin(text[np.maximum(opening - 1, 0)], list(f"{separator}\n".encode())) | (opening == 0)
    after = np.isin(text[np.minimum(closing + 1, len(text) - 1)], list(f"{separator}\r\n".encode()))
    return bool((before & (after | (closing == len(text) - 1))).all())


def _raw(content: bytes, separator: str, width: int, skip: int, quote: str | None) -> pl.DataFrame | None:
    try:
        return pl.read_csv(
            content,
            separator=separator,
            has_header=False,
            skip_lines=skip,
            quote_char=quote,
            schema={_field(place): pl.String for place in range(width)},
        )
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None


def _needed(raw: pl.DataFrame, columns: tuple[ColumnSpec, ...]) -> set[str]:
    """The columns that must have no gap: those that are read, and the last, where a short row shows."""
    return {_field(column.place) for column in columns} | {raw.columns[-1]}


def _field(place: int) -> str:
    return f"field {place}"


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
        checks.append((says_a_number(plain), "not finite"))
    return pl.select(first_reason([*checks, (series.is_not_null(), "unparseable")])).to_series()


def first_reason(checks: Iterable[tuple[Any, str]]) -> pl.Expr:
    """For each row the reason of the first check that finds something."""
    return pl.coalesce(*(pl.when(there).then(pl.lit(reason)) for there, reason in checks))
