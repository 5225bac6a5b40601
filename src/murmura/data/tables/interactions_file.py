"""Any table of interactions: CSV, TSV and their like (plain or gzipped) or Parquet, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError, SettingError
from murmura.core.files import whole_file
from murmura.core.interactions import Interactions
from murmura.data.repeats import duplicates_sentence, merge_duplicates, repeated_rows
from murmura.data.tables.column_kinds import ColumnKind, time_sentence
from murmura.data.tables.dialect import BY_SUFFIX, is_known, named
from murmura.data.tables.own_layout import TableReading, own_layout, require_names, said_columns
from murmura.data.tables.side_file import relation_of
from murmura.data.tables.text_file import read_own_text
from murmura.data.tables.text_table import CheckedTable, interactions_of, left_out, read_table
from murmura.data.tables.typed_table import checked_columns, is_parquet, open_parquet

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
    table = checked_columns(where, frame, names, reading.may_repeat, reading.skip_bad)
    odd = not (all(is_known(*one) for one in names.items()) or set(names) <= set(reading.columns))
    name = Path(where).name
    return _dataset(name, table, names, reading, (f"{name}: {said_columns(names)}.",) if odd else ())


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
    sentences = [duplicates_sentence(repeated_rows(rows), reading.repeats)]
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
    if suffix == ".tsv":
        _refuse_breaks(path, frame)
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


def _refuse_breaks(path: Path, frame: pl.DataFrame) -> None:
    """A tab-separated file has no quotes: an id that holds a tab or a line break cannot be told apart."""
    for part in ("user", "item"):
        if frame[part].dtype == pl.String and frame[part].str.contains(r"[\t\r\n]").any():
            raise SettingError(
                f"{path}: a {part} id holds a tab or line break; write .csv or .parquet instead."
            )
