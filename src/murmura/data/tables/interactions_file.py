"""Any table of interactions: CSV, TSV and their like (plain or gzipped), Parquet or a frame, read and written.

Where columns have types a bad field is a gap, a NaN or an implausible time.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError, SettingError
from murmura.core.files import whole_file
from murmura.core.interactions import Interactions
from murmura.data.repeats import duplicates_sentence, merge_duplicates
from murmura.data.tables.column_kinds import (
    FURTHEST,
    LONGEST_ID,
    ColumnKind,
    first_reason,
    in_seconds,
    kind_of_times,
    quoted,
    quoted_names,
    time_sentence,
    times_of,
)
from murmura.data.tables.dialect import BY_SUFFIX, named
from murmura.data.tables.own_layout import TableReading, own_layout, require_names, said_columns
from murmura.data.tables.side_file import relation_of
from murmura.data.tables.text_file import read_own_text, read_raw
from murmura.data.tables.text_table import SAMPLE, CheckedTable, interactions_of, left_out, read_table

WRITTEN = (".parquet", ".csv", ".tsv")
_SUFFIXES = {*BY_SUFFIX, ".txt", ".parquet", ".pq", ".dat", ".data"}


def read(path: Path, reading: TableReading) -> Dataset:
    """The table in `path`.

    Ids are whole numbers when all of them are, without leading zeros; otherwise text exactly as written.
    """
    name = path.name
    if is_parquet(path):
        return read_frame(str(path), open_parquet(path), reading)
    given, notes = read_own_text(path)
    own = own_layout(given, reading)
    table = read_table(own.text, own.layout, reading.skip_bad)
    return _dataset(name, table, own.names, reading, (*notes, *([f"{name}: {own.said}."] if own.said else [])))


def read_frame(where: str, frame: pl.DataFrame, reading: TableReading) -> Dataset:
    """A table whose columns have types; `where` is its file, or what to call it."""
    names = named(frame.columns, reading.columns)
    require_names(where, frame.columns, names)
    table = checked_columns(where, frame, names, reading.repeats != "refuse", reading.skip_bad)
    name, said = Path(where).name, said_columns(names, reading.columns)
    return _dataset(name, table, names, reading, (f"{name}: {said}.",) if said else ())


def looks_like_a_file(name: str) -> bool:
    """Whether a name means a file of the user's rather than a data set we know by name."""
    suffixes = Path(name).suffixes
    return "/" in name or "\\" in name or any(suffix.lower() in _SUFFIXES for suffix in suffixes)


def _dataset(
    file: str, table: CheckedTable, names: Mapping[str, str], reading: TableReading, notes: tuple[str, ...]
) -> Dataset:
    if not len(table.frame):
        raise DataError(f"{file}: the table must hold at least one good row, but has none.")
    rows = interactions_of([table.frame])
    categories = None
    if "category" in table.frame.columns:
        categories = relation_of(rows.item, table.frame["category"])
    catalogue = Catalogue(rows.items, categories=categories, category=names.get("category", "category"))
    sentences = [duplicates_sentence(rows, reading.repeats)]
    if "time" in table.kinds:
        sentences.append(time_sentence(table.kinds["time"], table.frame["time"]))
    if table.kinds.get("value") is ColumnKind.DECIMAL_COMMA:
        sentences.append("values have a decimal comma")
    found = tuple(f"{file}: {sentence}." for sentence in sentences if sentence)
    every = (*notes, *found, *left_out(file, table.bad))
    return Dataset(file.split(".")[0], merge_duplicates(rows, reading.repeats), catalogue, every)


def write_table(path: Path, data: Interactions) -> None:
    """The rows as a Parquet, CSV or TSV file, own ids, in their order; `load` reads them back."""
    suffix = path.suffix.lower()
    if suffix not in WRITTEN:
        raise SettingError(f"the file to write must end in {', '.join(WRITTEN)}, but is '{path.name}'.")
    frame = as_frame(data)
    for part in ("user", "item") if suffix == ".tsv" else ():  # which has no quotes around a tab or a break
        if frame[part].dtype == pl.String and frame[part].str.contains(r"[\t\r\n]").any():
            raise SettingError(
                f"{path}: a {part} id holds a tab or line break; write .csv or .parquet instead."
            )
    with whole_file(path, DataError) as file:
        if suffix == ".parquet":
            frame.write_parquet(file)
        elif suffix == ".csv":
            frame.write_csv(file, quote_style="necessary")
        else:
            frame.write_csv(file, separator="\t", quote_style="never")


def as_frame(data: Interactions) -> pl.DataFrame:
    """The columns user, item, value and, where there are times, time."""
    columns = [
        pl.Series("user", data.users.labels).gather(data.user),
        pl.Series("item", data.items.labels).gather(data.item),
        pl.Series("value", data.value),
    ]
    return pl.DataFrame(columns if data.time is None else [*columns, pl.Series("time", data.time)])


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
    if part in ("user", "item"):
        known = column.drop_nulls()  # whole numbers that met a gap on their way are floats
        if kind.is_integer() or (kind.is_float() and (known.floor() == known).all()):
            return column.cast(pl.Int64, strict=False)
        if kind in (pl.String, pl.Categorical, pl.Enum):
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
