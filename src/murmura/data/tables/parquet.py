"""Tables in Parquet."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from murmura.core.errors import DataError
from murmura.data.tables.text_file import read_raw

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
