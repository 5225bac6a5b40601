"""Frames and sparse matrices of other libraries, in and out; pandas is used where it is there, never needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from murmura.core.arrays import Ids
from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError, SettingError
from murmura.core.interactions import Interactions
from murmura.core.model import RankedLists
from murmura.data.reading import Reading, described
from murmura.data.tables.interactions_file import as_frame, read_frame

NAME = "frame"  # what a data set is called that has no file


def is_sparse(given: object) -> bool:
    """Whether something is a matrix or array of scipy.sparse."""
    return hasattr(given, "tocoo")


def from_frame(frame: object, *, name: str = NAME, reading: Reading | None = None, **how: Any) -> Dataset:
    """A data set from a frame (polars, pandas, or columns by name): a row of it is an interaction.

    Args:
        frame: With the columns user and item, and perhaps value, time and category, under their usual names.
        name: What to call the data set.
        reading: How it is read, as settings.
        how: The same by name, as `load` takes it: `columns={"user": "customer"}`, `positive_from=4`, ...
    """
    options = reading or Reading(**how)
    return described(read_frame(name, _as_polars(frame), options), options)


def from_sparse(
    matrix: Any,
    users: Sequence[Any] | Ids | None = None,
    items: Sequence[Any] | Ids | None = None,
    *,
    name: str = NAME,
    reading: Reading | None = None,
    **how: Any,
) -> Dataset:
    """A data set from a matrix of scipy.sparse: users are rows, items columns; an entry of 0 is no interaction.

    Args:
        matrix: Users by items; entries of the same place are added up.
        users: The own ids of the rows; None: their numbers.
        items: The own ids of the columns; None: their numbers.
        name: What to call the data set.
        reading: What is said beside the rows, as settings.
        how: The same by name, as `load` takes it: `positive_from=4`, `features=...`.
    """
    options = reading or Reading(**how)
    options.refuse_for(name)
    entries = matrix.tocsr().tocoo()  # which adds up what is stored twice
    there = np.flatnonzero(entries.data)
    if not len(there):
        raise DataError(
            "a sparse matrix must have an entry that is not 0, but has none; check how it was made."
        )
    values = np.asarray(entries.data[there], np.float64)
    if not np.isfinite(values).all():
        raise DataError("the entries of a sparse matrix must be finite, but some are not; replace them.")
    who = _ids(users, matrix.shape[0], "users")[entries.row[there]]
    rows = Interactions.of(who, _ids(items, matrix.shape[1], "items")[entries.col[there]], values)
    return described(Dataset(name, rows, Catalogue(rows.items)), options)


def to_frame(what: Dataset | Interactions | RankedLists, of: Interactions | None = None) -> pl.DataFrame:
    """A frame of polars: of interactions user, item, value and time; of lists user, rank, item and score.

    Args:
        what: Interactions, or the lists that a model gave.
        of: For lists: the interactions whose users and items they are of, such as `model.train`.
    """
    if isinstance(what, RankedLists):
        if of is None:
            raise SettingError(
                "lists must come with the data they are of, but it is missing; give model.train."
            )
        return _lists(what, of)
    return as_frame(what.interactions if isinstance(what, Dataset) else what)


def to_pandas(what: Dataset | Interactions | RankedLists, of: Interactions | None = None) -> Any:
    """The same as a frame of pandas, which must be installed."""
    frame = to_frame(what, of)
    return pandas_frame({column.name: column.to_numpy() for column in frame.get_columns()})


def pandas_frame(columns: Mapping[str, Any]) -> Any:
    """Columns by name as a frame of pandas, which must be installed."""
    try:
        import pandas as pd
    except ImportError:
        raise SettingError(
            "a pandas frame needs pandas, but it is not installed: pip install pandas."
        ) from None
    return pd.DataFrame(columns)


def to_sparse(data: Dataset | Interactions) -> Any:
    """A scipy.sparse array of users by items, coded as in the data; where a pair repeats, its latest value."""
    from scipy.sparse import csr_array

    from murmura.data.repeats import merge_duplicates

    rows = merge_duplicates(data.interactions if isinstance(data, Dataset) else data, "latest")
    return csr_array((rows.value, (rows.user, rows.item)), shape=(rows.n_users, rows.n_items))


def _lists(lists: RankedLists, of: Interactions) -> pl.DataFrame:
    kept = lists.item.ravel() >= 0
    k = lists.k
    return pl.DataFrame(
        {
            "user": of.users.labels[np.repeat(lists.user, k)[kept]],
            "rank": np.tile(np.arange(1, k + 1), len(lists.user))[kept],
            "item": of.items.labels[lists.item.ravel()[kept]],
            "score": lists.score.ravel()[kept],
        }
    )


def _ids(given: Sequence[Any] | Ids | None, count: int, what: str) -> Ids:
    ids = np.arange(count) if given is None else np.asarray(given)
    if len(ids) != count or len(np.unique(ids)) != count:
        raise SettingError(
            f"{what} must be {count} ids, each of them once, but there are {len(ids)} with "
            f"{len(np.unique(ids))} different ones."
        )
    return ids


def _as_polars(frame: object) -> pl.DataFrame:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        return pl.DataFrame(dict(frame))
    if not (hasattr(frame, "columns") and hasattr(frame, "__getitem__")):
        raise SettingError(
            f"a frame must be one of polars or pandas, or columns by name, but it is a {type(frame).__name__}."
        )
    return pl.DataFrame([_column(str(name), frame[name]) for name in frame.columns])


def _column(name: str, column: Any) -> pl.Series:
    """A column of pandas, or of whatever is like it: by its numbers, dates, or text; gaps stay gaps."""
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    values = column.to_numpy()
    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    if values.dtype.kind == "M":
        return pl.Series(name, values.astype("datetime64[us]"))
    gaps = np.asarray(column.isna()) if hasattr(column, "isna") else np.zeros(len(values), np.bool_)
    known = [None if gap else value for value, gap in zip(values.tolist(), gaps.tolist())]
    kinds = {type(value) for value in known if value is not None}
    return pl.Series(name, known if len(kinds) < 2 else [None if v is None else str(v) for v in known])
