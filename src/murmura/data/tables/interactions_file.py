"""Any table of interactions with named columns: CSV, TSV (plain or gzipped) or Parquet, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError, SettingError
from murmura.core.files import whole_file
from murmura.core.interactions import Interactions
from murmura.data.sources.item_features import relation_of_rows
from murmura.data.tables.checked_table import PARTS, CheckedTable, interactions_of, left_out, read_table
from murmura.data.tables.parquet import is_parquet, open_parquet, read_parquet
from murmura.data.tables.text_file import TextFile, read_text
from murmura.data.tables.text_layout import TextLayout

# the names a column may have when nobody says which is which, the likeliest first
GUESSES: dict[str, tuple[str, ...]] = {
    "user": ("user", "user_id", "userId", "userid", "uid", "reviewerID"),
    "item": ("item", "item_id", "itemId", "itemid", "iid", "movieId", "venue_id", "asin", "work"),
    "value": ("value", "rating", "score", "stars", "overall", "weight"),
    "time": ("time", "timestamp", "utc", "unixtime", "unixReviewTime", "date"),
    "category": ("category", "type", "genre"),
}
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
WRITTEN = (".parquet", ".csv", ".tsv")
_SUFFIXES = {*_SEPARATORS, ".txt", ".parquet", ".pq", ".dat", ".data"}


def read(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    separator: str | None = None,
    repeats: bool = False,
    skip_bad: bool = False,
) -> Dataset:
    """The table in `path`; `columns` says which column is the user, item, value, time or category.

    Ids are whole numbers when all of them are, without leading zeros; otherwise text exactly as written.
    """
    unknown = sorted(set(columns or ()) - set(PARTS))
    if unknown:
        raise SettingError(f"columns must name {', '.join(PARTS)}, but names '{unknown[0]}'; leave that out.")
    if is_parquet(path):
        whole = open_parquet(path)
        names = named(whole.columns, columns or {})
        table = CheckedTable(*read_parquet(path, whole, names, repeats, skip_bad))
    else:
        text = read_text(path)
        names, layout = _layout(text, columns or {}, separator, repeats)
        table = read_table(text, layout, skip_bad)
    return _dataset(path, table, names.get("category", "category"))


def looks_like_a_file(name: str) -> bool:
    """Whether a name means a file of the user's rather than a data set we know by name."""
    suffixes = Path(name).suffixes
    return "/" in name or "\\" in name or any(suffix.lower() in _SUFFIXES for suffix in suffixes)


def named(header: list[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Which column is which: as told, otherwise by the usual names; user and item are always asked for."""
    names = {}
    for part in PARTS:
        guess = next((name for name in GUESSES[part] if name in header), None)
        chosen = columns.get(part) or guess or (part if part in ("user", "item") else None)
        if chosen is not None:
            names[part] = chosen
    return names


def _layout(
    text: TextFile, columns: Mapping[str, str], separator: str | None, repeats: bool
) -> tuple[dict[str, str], TextLayout]:
    """Which column is which, and how the file is cut."""
    first = text.content.split(b"\n", 1)[0].decode().removesuffix("\r")
    cut = separator or separator_of(text.path, first)
    quoted = cut == "," or cut == ";"
    header = [name.strip('"') if quoted else name for name in first.split(cut)]
    names = named(header, columns)
    return names, TextLayout(cut, {**names}, quoted=quoted, repeats=repeats)


def separator_of(path: Path, first: str) -> str:
    """What separates the fields of a text file: its name says it, or its first line."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    by_name = _SEPARATORS.get(suffixes[-1]) if suffixes else None
    return by_name or max(("\t", ",", ";", "::", "|"), key=first.count)


def _dataset(path: Path, table: CheckedTable, category: str) -> Dataset:
    if not len(table.frame):
        raise DataError(f"{path}: the table must hold at least one good row, but has none.")
    interactions = interactions_of([table.frame])
    categories = None
    if "category" in table.frame.columns:
        categories = relation_of_rows(interactions, table.frame["category"])
    catalogue = Catalogue(interactions.items, categories=categories, category=category)
    return Dataset(path.name.split(".")[0], interactions, catalogue, left_out(path.name, table.bad))


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
