"""Tables whose columns have types, Parquet and frames: a bad field is a gap, a NaN or an implausible time."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from murmura.core.errors import DataError
from murmura.data.tables.column_kinds import (
    FURTHEST,
    LONGEST_ID,
    ColumnKind,
    in_seconds,
    kind_of_times,
    quoted,
    quoted_names,
    times_of,
)
from murmura.data.tables.text_file import read_raw
from murmura.data.tables.text_table import SAMPLE, CheckedTable, first_reason

MAGIC = b"PAR1"


def is_parquet(path: Path) -> bool:
    """By its name, or by its first bytes."""
    if path.suffix.lower() in {".parquet", ".pq"}:
        return True
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except (OSError, ValueError):
        return False


def open_parquet(path: Path) -> pl.DataFrame:
    """The table as it lies there."""
    raw = read_raw(path)
    try:
        return pl.read_parquet(io.BytesIO(raw))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0][:80]
        raise DataError(
            f"{path}: the file must be a Parquet table, but is not ({reason}); get it again."
        ) from None


_MUST_BE = {"user": "whole numbers or text", "value": "numbers", "time": "seconds since 1970 or dates"}


def checked_columns(
    where: str, table: pl.DataFrame, names: Mapping[str, str], repeats: bool, skip_bad: bool
) -> CheckedTable:
    """The named columns, checked, and the bad rows by reason; without `skip_bad` the first is an error."""
    for part, name in names.items():
        if name not in table.columns:
            raise DataError(
                f"{where}: the table must have the column {quoted(name)} ({part}), but has "
                f"{quoted_names(table.columns)}; say which column is the {part} (--columns)."
            )
    kinds: dict[str, ColumnKind] = {}
    frame = pl.DataFrame([_typed(where, part, table[name], kinds) for part, name in names.items()])
    frame = frame.with_columns(_reason(frame, repeats).alias("reason"))
    wrong = frame["reason"].is_not_null()
    if wrong.any() and not skip_bad:
        row = wrong.arg_max()
        raise DataError(
            f"{where}, row {(row or 0) + 1}: a row must be sound, but this has: {frame['reason'][row or 0]}; "
            "correct it or skip bad rows (skip_bad, --skip-bad)."
        )
    bad = Counter(frame["reason"].drop_nulls().to_list())
    return CheckedTable(frame.filter(~wrong).drop("reason"), bad, kinds)


def _typed(where: str, part: str, column: pl.Series, kinds: dict[str, ColumnKind]) -> pl.Series:
    """The column in the type of its part; what does not fit becomes a gap."""
    kind = column.dtype
    column = column.alias(part)
    if part == "category":
        return column.cast(pl.String, strict=False).fill_null("")
    if part == "value" and (kind.is_numeric() or kind == pl.Boolean):
        return column.cast(pl.Float64, strict=False)
    if part == "time" and (found := _times(column, kinds)) is not None:
        return found.alias(part)
    if (
        part in ("user", "item")
        and kind.is_float()
        and (column.drop_nulls().floor() == column.drop_nulls()).all()
    ):
        return column.cast(pl.Int64, strict=False)  # whole numbers that met a gap on their way
    if part in ("user", "item") and kind.is_integer():
        return column.cast(pl.Int64, strict=False)
    if part in ("user", "item") and kind in (pl.String, pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    must = _MUST_BE["user" if part == "item" else part]
    raise DataError(f"{where}: the column of the {part} must hold {must}, but holds {kind}; convert it.")


def _times(column: pl.Series, kinds: dict[str, ColumnKind]) -> pl.Series | None:
    """Seconds since 1970, from numbers, dates, or text that says either; None: it is none of them."""
    kind = column.dtype
    if kind.is_numeric():
        seconds, kinds["time"] = in_seconds(column)
        return seconds
    if kind in (pl.Date, pl.Datetime):
        kinds["time"] = ColumnKind.ISO
        return column.dt.epoch("s").cast(pl.Int64)
    if kind != pl.String or not column.drop_nulls().len():
        return None
    kinds["time"] = kind_of_times(column.drop_nulls().head(SAMPLE))
    return times_of(column, kinds["time"])


def _reason(frame: pl.DataFrame, repeats: bool) -> pl.Expr:
    """Why a row is bad, or null."""
    checks: list[tuple[pl.Expr, str]] = []
    for part, kind in frame.schema.items():
        column = pl.col(part)
        checks.append((column.is_null(), f"empty {part}"))
        if part in ("user", "item") and kind == pl.String:
            checks.append((column.str.len_chars() == 0, f"empty {part}"))
            checks.append((column.str.len_chars() > LONGEST_ID, f"too long {part}"))
            checks.append((column.str.contains("\0", literal=True), f"unparseable {part}"))
        if part == "value":
            checks.append((~column.is_finite(), "not finite value"))
        if part == "time":
            checks.append((column < 0, "negative time"))
            checks.append((column >= FURTHEST, "time too large"))
    if not repeats:
        checks.append((~pl.struct("user", "item").is_first_distinct(), "duplicate pair"))
    return first_reason(checks)
