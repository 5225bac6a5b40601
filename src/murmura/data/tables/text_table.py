"""A text file becomes checked columns, and columns become interactions."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from murmura.core.arrays import Floats, Ints, Longs
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, Vocabulary
from murmura.data.tables.column_kinds import (
    ColumnKind,
    ColumnSpec,
    TextLayout,
    is_whole,
    kind_of_times,
    quoted,
    quoted_names,
    reasons_of,
    tells_day_from_month,
    values_of,
)
from murmura.data.tables.dialect import PARTS
from murmura.data.tables.text_file import TextFile

_STAND_IN = "\x1f"  # a separator of several characters becomes this one before polars sees it


def read_fast(
    text: TextFile, layout: TextLayout, columns: tuple[ColumnSpec, ...], width: int
) -> pl.DataFrame | None:
    """The checked columns of a clean file, named by their part; None when anything looks wrong."""
    raw = clean_fields(text, layout, width)
    needed = {column.place for column in columns} | {width - 1}  # the last shows a short row
    if raw is None or any(raw.to_series(place).null_count() for place in needed):
        return None
    values = [values_of(raw.to_series(one.place), one.kind).alias(one.part) for one in columns]
    return None if any(one.null_count() for one in values) else pl.DataFrame(values)


def clean_fields(text: TextFile, layout: TextLayout, width: int, ragged: bool = False) -> pl.DataFrame | None:
    """The first fields of every row as text, a gap where one is empty; None when anything looks wrong.

    What looks wrong is only a suspicion: `lines` then cuts the file line by line. A row may have more fields
    where it may be `ragged`.
    """
    content, separator = text.content.lstrip(b"\r\n"), layout.separator
    if content.endswith((b"\n\n", b"\n\r\n")):
        content = content.rstrip(b"\r\n")
    has_quotes = layout.quoted and b'"' in content
    if layout.quoted and content.count(b"\r") != content.count(b"\r\n"):
        return None
    if has_quotes and not _well_quoted(content, separator):
        return None
    if len(separator) > 1:
        if _STAND_IN.encode() in content:
            return None
        content, separator = content.replace(separator.encode(), _STAND_IN.encode()), _STAND_IN
    try:
        return pl.read_csv(
            content,
            separator=separator,
            has_header=False,
            skip_lines=int(layout.header),
            quote_char='"' if has_quotes else None,
            schema={f"field {place}": pl.String for place in range(width)},
            truncate_ragged_lines=ragged,
        )
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None


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


Rows = Iterable[tuple[int, list[str] | None]]  # number and fields of a line; None for fields that are broken


def read_careful(
    path: Path, rows: Rows, columns: tuple[ColumnSpec, ...], width: int, repeats: bool, skip_bad: bool
) -> tuple[pl.DataFrame, Counter[str]]:
    """The good rows and the count of bad ones by reason; without `skip_bad` the first bad row is an error."""
    cut = _cut(rows, columns, width)
    values = [values_of(cut[one.part], one.kind).alias(one.part) for one in columns]
    good = cut["fields"] == width
    for column in values:
        good &= column.is_not_null()
    found = pl.DataFrame([*values, cut["line"]]).filter(good)
    first = pl.col("line").first().over("user", "item")
    again = found.select("line", first=first).filter(pl.col("first") != pl.col("line"), not repeats)
    bad = _reasons(cut.filter(~good), columns, width)
    bad |= dict.fromkeys(again["line"].to_list(), "duplicate pair")
    if bad and not skip_bad:
        row = cut.row(by_predicate=pl.col("line") == min(bad), named=True)
        why = _sentence(row, columns, width, dict(again.iter_rows()))
        raise DataError(
            f"{path}, line {row['line']}: {why}; correct the line or skip bad rows (skip_bad, --skip-bad)."
        )
    found = found.join(again, on="line", how="anti", maintain_order="left").drop("line")
    return found, Counter(bad[line] for line in sorted(bad))


def _cut(rows: Rows, columns: tuple[ColumnSpec, ...], width: int) -> pl.DataFrame:
    """The number of each line, its fields (-1: broken) and their text, where there are as many as must be."""
    line, count, text = list[int](), list[int](), [list[str | None]() for _ in columns]
    for number, fields in rows:
        line.append(number)
        count.append(-1 if fields is None else len(fields))
        for column, of in zip(columns, text):
            of.append(fields[column.place] if fields is not None and len(fields) == width else None)
    schema = {"line": pl.Int64, "fields": pl.Int64, **{one.part: pl.String for one in columns}}
    return pl.DataFrame([line, count, *text], schema)


def _reasons(bad: pl.DataFrame, columns: tuple[ColumnSpec, ...], width: int) -> dict[int, str]:
    """The reason of each line that cannot be used: the first thing that is wrong with it."""
    fields = pl.col("fields")
    reasons = [pl.when(fields < 0).then(pl.lit("broken line"))]
    reasons.append(pl.when(fields != width).then(pl.lit("wrong number of fields")))
    for column in columns:
        name, text = column.part, bad[column.part]
        why = reasons_of(text, column.kind)
        message = pl.when(why.str.contains(name, literal=True)).then(why).otherwise(why + f" {name}")
        reasons.append(pl.when(values_of(text, column.kind).is_null()).then(message))
    return dict(bad.select("line", reason=pl.coalesce(*reasons)).iter_rows())


def _sentence(row: dict[str, Any], columns: tuple[ColumnSpec, ...], width: int, again: dict[int, int]) -> str:
    """What is wrong with a row; `again` has the first line of each pair that a line repeats."""
    if row["line"] in again:
        pair = f"user {quoted(row['user'])} and item {quoted(row['item'])}"
        return f"{pair} must meet once, but they already met in line {again[row['line']]}"
    if row["fields"] < 0:
        return "a line must be cut into fields by its quotes, but this one is broken"
    if row["fields"] != width:
        return f"a row must have {width} fields, but this has {row['fields']}"
    bad = (one for one in columns if values_of(pl.Series([row[one.part]]), one.kind)[0] is None)
    column = next(bad)
    must = f"the {column.part} ({quoted(column.title)}) must be {column.kind.value}"
    return f"{must}, but is {quoted(row[column.part])}"


def lines(text: TextFile, layout: TextLayout) -> Iterator[tuple[int, list[str] | None]]:
    """The lines of a file that are not blank, cut as the layout says."""
    plain = ((number, line.split(layout.separator)) for number, line in text.lines() if line)
    return islice(_quoted_lines(text, layout) if layout.quoted else plain, int(layout.header), None)


def _quoted_lines(text: TextFile, layout: TextLayout) -> Iterator[tuple[int, list[str] | None]]:
    decoded = (line.decode() for line in io.BytesIO(text.content))
    reader = csv.reader(decoded, delimiter=layout.separator, strict=True)
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
    if frame is None or (not layout.repeats and _has_duplicates(frame)):
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


def _has_duplicates(frame: pl.DataFrame) -> bool:
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
    headed = TextLayout(layout.separator, quoted=layout.quoted)
    return next((fields or [] for _, fields in lines(text, headed)), [])


def _kind_of(text: TextFile, layout: TextLayout, part: str, place: int) -> ColumnKind:
    """What a column of values or times holds, by its first rows."""

    def column(count: int | None) -> pl.Series:
        rows = islice(lines(text, layout), count)
        found = [fields[place] for _, fields in rows if fields and place < len(fields)]
        return pl.Series(found, dtype=pl.String)

    fields = column(SAMPLE)
    if part == "value":
        commas, points = fields.str.contains(DECIMAL_COMMA), fields.str.contains(".", literal=True)
        return ColumnKind.DECIMAL_COMMA if commas.any() and not points.any() else ColumnKind.VALUE
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
