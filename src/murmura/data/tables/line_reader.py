"""The unusual case: a file with something wrong, read line by line, to say what and where."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from murmura.core.errors import DataError
from murmura.data.tables.column_reader import reasons_of, values_of
from murmura.data.tables.text_file import TextFile
from murmura.data.tables.text_layout import ColumnSpec, TextLayout, quoted

_ADVICE = "correct the line or skip bad rows (skip_bad, --skip-bad)"

Rows = Iterable[tuple[int, list[str] | None]]  # number and fields of a line; None for fields that are broken


def read_careful(
    path: Path, rows: Rows, columns: tuple[ColumnSpec, ...], width: int, repeats: bool, skip_bad: bool
) -> tuple[pl.DataFrame, Counter[str]]:
    """The good rows and the count of bad ones by reason; without `skip_bad` the first bad row is an error."""
    cut = _cut(rows, columns, width)
    values = [values_of(cut[one.part], one.kind).alias(one.part) for one in columns]
    good = cut.select(good=pl.col("fields") == width).to_series()
    for column in values:
        good &= column.is_not_null()
    found = pl.DataFrame([*values, cut["line"]]).filter(good)
    first = pl.col("line").first().over("user", "item")
    again = found.select("line", first=first).filter(pl.col("first") != pl.col("line"))
    if repeats:
        again = again.clear()
    wrong = _why(cut.filter(~good), columns, width)
    if not skip_bad and len(wrong) + len(again):
        raise DataError(f"{path}, line {_first_bad(wrong, again, cut, columns, width)}; {_ADVICE}.")
    twice = again.select("line", reason=pl.lit("duplicate pair"))
    bad = Counter(pl.concat([wrong.select("line", "reason"), twice]).sort("line")["reason"].to_list())
    return found.join(again, on="line", how="anti", maintain_order="left").drop("line"), bad


def _cut(rows: Rows, columns: tuple[ColumnSpec, ...], width: int) -> pl.DataFrame:
    """The number of each line, its fields (-1: broken) and their text, where there are as many as must be."""
    line, count, text = list[int](), list[int](), [list[str | None]() for _ in columns]
    for number, fields in rows:
        line.append(number)
        count.append(-1 if fields is None else len(fields))
        for column, of in zip(columns, text):
            of.append(fields[column.place] if fields is not None and len(fields) == width else None)
    texts = {column.part: pl.Series(of, dtype=pl.String) for column, of in zip(columns, text)}
    return pl.DataFrame(
        {"line": pl.Series(line, dtype=pl.Int64), "fields": pl.Series(count, dtype=pl.Int64), **texts}
    )


def _why(cut: pl.DataFrame, columns: tuple[ColumnSpec, ...], width: int) -> pl.DataFrame:
    """The line, the reason and the part of each row that cannot be used: the first that is wrong with it."""
    reasons = [pl.when(pl.col("fields") < 0).then(pl.lit("broken line"))]
    reasons.append(pl.when(pl.col("fields") != width).then(pl.lit("wrong number of fields")))
    parts = [pl.when(pl.col("fields") != width).then(pl.lit(""))]
    for column in columns:
        name, text = column.part, cut[column.part]
        why = reasons_of(text, column.kind)
        told = pl.when(why.str.contains(name, literal=True)).then(why).otherwise(why + f" {name}")
        bad = values_of(text, column.kind).is_null()
        reasons.append(pl.when(bad).then(told))
        parts.append(pl.when(bad).then(pl.lit(name)))
    return cut.select("line", reason=pl.coalesce(*reasons), part=pl.coalesce(*parts))


def _first_bad(
    wrong: pl.DataFrame, again: pl.DataFrame, cut: pl.DataFrame, columns: tuple[ColumnSpec, ...], width: int
) -> str:
    """The number of the first line that cannot be used, and the sentence about it."""
    line = min([*wrong["line"].head(1), *again["line"].head(1)])
    row = cut.row(by_predicate=pl.col("line") == line, named=True)
    if line not in wrong["line"].head(1):
        before = again["first"][0]
        pair = f"user {quoted(row['user'])} and item {quoted(row['item'])}"
        return f"{line}: {pair} must meet once, but they already met in line {before}"
    if row["fields"] < 0:
        return f"{line}: a line must be cut into fields by its quotes, but this one is broken"
    if row["fields"] != width:
        return f"{line}: a row must have {width} fields, but this has {row['fields']}"
    column = next(one for one in columns if one.part == wrong["part"][0])
    must = f"the {column.part} ({quoted(column.title)}) must be {column.kind.value}"
    return f"{line}: {must}, but is {quoted(row[column.part])}"


def lines(text: TextFile, layout: TextLayout) -> Iterator[tuple[int, list[str] | None]]:
    """The lines of a file that are not blank, cut as the layout says."""
    rows = _quoted(text, layout) if layout.quoted else _plain(text, layout)
    if layout.header:
        next(rows, None)
    return rows


def _plain(text: TextFile, layout: TextLayout) -> Iterator[tuple[int, list[str]]]:
    for place, line in enumerate(_decoded(text), 1):
        line = line.removesuffix("\n").removesuffix("\r")
        if line:
            yield place, line.split(layout.separator)


def _decoded(text: TextFile) -> Iterator[str]:
    return (line.decode() for line in io.BytesIO(text.content))


def _quoted(text: TextFile, layout: TextLayout) -> Iterator[tuple[int, list[str] | None]]:
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
