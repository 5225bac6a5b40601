"""The usual case: a clean file, read and checked column by column with polars.

Whatever looks wrong here is only a suspicion: the answer is then None, and the careful pass decides.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from murmura.data.tables.text_file import TextFile
from murmura.data.tables.text_layout import LONGEST_ID, ColumnKind, ColumnSpec, TextLayout
from murmura.data.tables.times import times_of

WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
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
    checked: list[pl.Series] = []
    for column in columns:
        series = _checked(raw[_field(column.place)], column.kind)
        if series is None:
            return None
        checked.append(series.alias(column.part))
    return pl.DataFrame(checked)


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


def _checked(series: pl.Series, kind: ColumnKind) -> pl.Series | None:
    if kind is ColumnKind.LABEL:
        return series
    if kind is ColumnKind.TEXT_ID:
        return series if series.str.len_chars().is_between(1, LONGEST_ID).all() else None
    if kind is ColumnKind.NUMBER_ID:
        return series.cast(pl.Int64, strict=False) if series.str.contains(WHOLE).all() else None
    if kind is ColumnKind.VALUE:
        return _numbers(series)
    if kind is ColumnKind.DECIMAL_COMMA:
        return _numbers(series.str.replace(",", ".", literal=True))
    return times_of(series, kind)


def _numbers(series: pl.Series) -> pl.Series | None:
    if not series.str.contains(_NUMBER).all():
        return None
    numbers = series.cast(pl.Float64, strict=False)
    return numbers if not numbers.null_count() and numbers.is_finite().all() else None


def is_whole(series: pl.Series) -> bool:
    """Whether every id of a text column is a whole number in its one canonical form."""
    return bool(series.str.contains(WHOLE).all())
