"""Bytes out: a file is written whole or not at all, and interactions become a table."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import polars as pl

from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions

SUFFIXES = (".parquet", ".csv", ".tsv")


@contextmanager
def write_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write into; it takes the name `path` only when everything went well."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise DataError(
            f"{path}: the file cannot be written ({error.strerror}); choose another place."
        ) from None
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        part.chmod(0o644)
        part.replace(path)
    except OSError as error:
        raise DataError(
            f"{path}: the file cannot be written ({error.strerror}); choose another place."
        ) from None
    finally:
        part.unlink(missing_ok=True)


def write_table(path: Path, data: Interactions) -> None:
    """The rows as a Parquet, CSV or TSV file, own ids, in their order; `load` reads them back."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise SettingError(f"the file to write must end in {', '.join(SUFFIXES)}, but is '{path.name}'.")
    frame = as_frame(data)
    if suffix == ".tsv":
        _refuse_breaks(path, frame)
    with write_whole(path) as file:
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
