"""MovieLens 1M, 100K and the `latest` editions (GroupLens, University of Minnesota).

Harper and Konstan, "The MovieLens Datasets: History and Context", ACM TiiS 5(4), 2015.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from murmura.core.arrays import Ids, Longs
from murmura.core.catalogue import Catalogue, Dataset, Relation
from murmura.core.interactions import Vocabulary
from murmura.data.graphs.feature_table import read_mapping
from murmura.data.graphs.graph_triples import edge_list, joined
from murmura.data.sources.item_features import column_for, number_ids, relation_for, side_rows
from murmura.data.sources.source import Source, SourceFile, SourceFolder, side
from murmura.data.tables.column_kinds import ColumnKind, TextLayout
from murmura.data.tables.text_table import interactions_of

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
    layout = TextLayout("::", _PLACES, _KINDS, header=False, width=4)
    interactions = interactions_of([folder.rows("ratings.dat", layout)])
    items = interactions.items
    names, genres = None, None
    movies = folder.optional("movies.dat", "latin-1")
    if movies is not None:
        rows = list(side_rows(movies, "::", 3))
        ids = number_ids(movies, [row[0] for row in rows])
        names, genres = movies_of(items, ids, [row[1] for row in rows], [row[2].split("|") for row in rows])
    links, features = _dbpedia(folder, items)
    return folder.dataset(interactions, Catalogue(items, names, genres, features, links, GENRE))


def read_100k(folder: SourceFolder) -> Dataset:
    """`u.data` (tabs), `u.item` (latin-1, `|`, one flag per genre) and `u.genre`."""
    layout = TextLayout("\t", _PLACES, _KINDS, header=False, width=4)
    interactions = interactions_of([folder.rows("u.data", layout)])
    names, genres = None, None
    movies, titles = folder.optional("u.item", "latin-1"), folder.optional("u.genre", "latin-1")
    if movies is not None and titles is not None:
        labels = [row[0] for row in side_rows(titles, "|", 2)]
        rows = list(side_rows(movies, "|", 5 + len(labels)))
        ids = number_ids(movies, [row[0] for row in rows])
        flagged = [[label for label, flag in zip(labels, row[5:]) if flag == "1"] for row in rows]
        names, genres = movies_of(interactions.items, ids, [row[1] for row in rows], flagged)
    return folder.dataset(interactions, Catalogue(interactions.items, names, genres, category=GENRE))


def read_latest(folder: SourceFolder) -> Dataset:
    """`ratings.csv` and `movies.csv` (UTF-8, comma, quoted where a title holds one)."""
    names = {"user": "userId", "item": "movieId", "value": "rating", "time": "timestamp"}
    layout = TextLayout(",", names, _KINDS, quoted=True)
    interactions = interactions_of([folder.rows("ratings.csv", layout)])
    titles, genres = None, None
    movies = folder.optional("movies.csv")
    if movies is not None:
        rows = list(side_rows(movies, ",", 3, header=True, quoted=True))
        ids = number_ids(movies, [row[0] for row in rows])
        listed = [row[2].split("|") if row[2] != NO_GENRES else [] for row in rows]
        titles, genres = movies_of(interactions.items, ids, [row[1] for row in rows], listed)
    return folder.dataset(interactions, Catalogue(interactions.items, titles, genres, category=GENRE))


def movies_of(
    items: Vocabulary, ids: Longs, titles: list[str], genres: list[list[str]]
) -> tuple[Ids, Relation]:
    """The title and the genres of every item."""
    owner = np.repeat(ids, [len(listed) for listed in genres])
    categories = relation_for(items, owner, [genre for listed in genres for genre in listed])
    return column_for(items, ids, titles), categories


def _dbpedia(folder: SourceFolder, items: Vocabulary) -> tuple[Ids | None, Relation | None]:
    """Links by movie id, and one feature per (property, entity) triple; both are an optional subfolder."""
    if not (folder.path / "dbpedia").is_dir():
        return None, None
    mapping = folder.optional("dbpedia/MappingMovielens2DBpedia-1.2.tsv")
    if mapping is None:
        return None, None
    column, links = read_mapping(mapping)
    ids = number_ids(mapping, column)
    files = {name: folder.optional(f"dbpedia/{name}.edgelist") for name in _PROPERTIES}
    edges = [edge_list(file, name) for name, file in files.items() if file is not None]
    # where two movies stand at one address the last has it: the kept splits rest on that
    movies = pl.DataFrame({"subject": links, "movie": ids}).unique("subject", keep="last")
    known = joined(edges).join(movies, on="subject")
    labels = known["predicate"] + "=" + known["object"]
    return column_for(items, ids, links), relation_for(items, known["movie"].to_numpy(), labels)


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
