"""Interactions become a table in a file."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from murmura.core.errors import DataError, SettingError
from murmura.core.files import whole_file
from murmura.core.interactions import Interactions

SUFFIXES = (".parquet", ".csv", ".tsv")


def write_table(path: Path, data: Interactions) -> None:
    """The rows as a Parquet, CSV or TSV file, own ids, in their order; `load` reads them back."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SettingError(f"the file to write must end in {', '.join(SUFFIXES)}, but is '{path.name}'.")
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
