"""A text file becomes checked columns, and columns become interactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import polars as pl

from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, Vocabulary
from murmura.data.tables.column_names import PARTS
from murmura.data.tables.column_reader import read_fast
from murmura.data.tables.line_reader import lines, read_careful
from murmura.data.tables.text_file import TextFile
from murmura.data.tables.text_layout import ColumnKind, ColumnSpec, TextLayout, is_whole, quoted, quoted_names
from murmura.data.tables.times import kind_of_times, tells_day_from_month

DECIMAL_COMMA = "^([+-]?[0-9]+),([0-9]+)$"
SAMPLE = 1_000  # rows that a column's kind is found out from
_DEFAULT_KINDS = {
    "user": ColumnKind.TEXT_ID,
    "item": ColumnKind.TEXT_ID,
    "category": ColumnKind.LABEL,
}


@dataclass(frozen=True)
class CheckedTable:
    """The checked columns of one file, and what had to be left out of it."""

    frame: pl.DataFrame
    bad: Counter[str]
    kinds: dict[str, ColumnKind] = field(default_factory=dict)  # part -> what its column holds


def read_table(text: TextFile, layout: TextLayout, skip_bad: bool = False) -> CheckedTable:
    """The rows of a file: fast when it is clean, line by line when it is not."""
    columns, width = _resolve(text, layout)
    frame = read_fast(text, layout, columns, width)
    bad: Counter[str] = Counter()
    if frame is None or (not layout.repeats and _has_repeats(frame)):
        frame, bad = read_careful(text.path, lines(text, layout), columns, width, layout.repeats, skip_bad)
    if not len(frame):
        left = f"; left out: {describe_bad(bad)}" if bad else ""
        raise DataError(f"{text.path}: the file must hold at least one good row, but it has none{left}.")
    unsure = [part for part in ("user", "item") if layout.kinds.get(part) is None]
    whole = [part for part in unsure if is_whole(frame[part])]
    typed = frame.with_columns(pl.col(part).cast(pl.Int64) for part in whole)
    return CheckedTable(typed, bad, {column.part: column.kind for column in columns})


def left_out(name: str, bad: Counter[str]) -> tuple[str, ...]:
    """The note about the rows that had to be left out of a file, or none."""
    total = sum(bad.values())
    rows = "row" if total == 1 else "rows"
    return (f"{name}: left out {total:,} bad {rows} ({describe_bad(bad)}).",) if total else ()


def describe_bad(bad: Counter[str]) -> str:
    """The reasons and their counts, most frequent first."""
    return ", ".join(f"{reason} {count:,}" for reason, count in bad.most_common())


def interactions_of(frames: Sequence[pl.DataFrame]) -> Interactions:
    """The rows of one or more files, in their order, over common vocabularies."""
    frame = frames[0] if len(frames) == 1 else pl.concat(frames)
    users, user = encode(frame["user"])
    items, item = encode(frame["item"])
    value: Floats = frame["value"].to_numpy() if "value" in frame.columns else np.ones(len(frame))
    time: Longs | None = frame["time"].to_numpy() if "time" in frame.columns else None
    return Interactions(users, items, user, item, value, time)


def encode(column: pl.Series) -> tuple[Vocabulary, Ints]:
    """The vocabulary of a column of ids (whole numbers, or text by code point) and the column as codes."""
    labels = column.unique().sort()
    if column.dtype == pl.String:
        codes = column.cast(pl.Enum(labels)).to_physical().to_numpy()
        return Vocabulary(labels.to_numpy().astype(np.str_)), codes.astype(np.int32)
    known, ids = labels.to_numpy(), column.to_numpy()
    low, span = int(known[0]), int(known[-1]) - int(known[0]) + 1
    if span > 8 * len(ids):
        return Vocabulary(known), np.searchsorted(known, ids).astype(np.int32)
    places: Ints = np.zeros(span, np.int32)
    places[known - low] = np.arange(len(known), dtype=np.int32)
    return Vocabulary(known), places[ids - low]


def _has_repeats(frame: pl.DataFrame) -> bool:
    (_, user), (items, item) = encode(frame["user"]), encode(frame["item"])
    pairs = np.sort(user.astype(np.int64) * len(items) + item)
    return bool((pairs[1:] == pairs[:-1]).any())


def _resolve(text: TextFile, layout: TextLayout) -> tuple[tuple[ColumnSpec, ...], int]:
    """Which column is where, by the header or by the layout, and how many fields a row has."""
    header = _header(text, layout)
    columns = []
    for part in (part for part in PARTS if part in layout.names):
        name = layout.names[part]
        if isinstance(name, str) and name not in header:
            raise DataError(
                f"{text.path}, line 1: the header must name the column {quoted(name)} ({part}), but names "
                f"{quoted_names(header)}; correct the header or say which column is the {part}."
            )
        place = header.index(name) if isinstance(name, str) else name
        kind = layout.kinds.get(part) or _DEFAULT_KINDS.get(part) or _kind_of(text, layout, part, place)
        columns.append(ColumnSpec(part, place, kind, str(name) if header else f"field {place + 1}"))
    return tuple(columns), len(header) if layout.header else layout.width


def _header(text: TextFile, layout: TextLayout) -> list[str]:
    if not layout.header:
        return []
    headed = TextLayout(layout.separator, {}, header=False, quoted=layout.quoted)
    return next((fields or [] for _, fields in lines(text, headed)), [])


def _kind_of(text: TextFile, layout: TextLayout, part: str, place: int) -> ColumnKind:
    """What a column of values or times holds, by its first rows."""

    def column(count: int | None) -> pl.Series:
        rows = islice(lines(text, layout), count)
        found = [fields[place] for _, fields in rows if fields and place < len(fields)]
        return pl.Series(found, dtype=pl.String)

    fields = column(SAMPLE)
    if part == "value":
        return _kind_of_values(fields)
    kind = kind_of_times(fields)
    if not tells_day_from_month(kind, fields):
        every = column(None)
        kind = kind_of_times(every)
        if not tells_day_from_month(kind, every):
            raise DataError(
                f"{text.path}: dates must show which number is the day, but none of this column is above 12, "
                f"such as {quoted(fields[0])}; write them as 2012-04-30."
            )
    return kind


def _kind_of_values(fields: pl.Series) -> ColumnKind:
    commas, points = fields.str.contains(DECIMAL_COMMA), fields.str.contains(".", literal=True)
    return ColumnKind.DECIMAL_COMMA if commas.any() and not points.any() else ColumnKind.VALUE
