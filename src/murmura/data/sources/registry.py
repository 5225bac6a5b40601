"""The data sets Murmura knows by name, and the one door to all of them: `load`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from murmura.core.catalogue import Dataset
from murmura.core.errors import DataError, SettingError, did_you_mean
from murmura.core.interactions import Interactions
from murmura.core.plugins import Registry
from murmura.data.frames import from_frame, from_sparse, is_sparse
from murmura.data.graphs.knowledge_graph import EXCLUDED
from murmura.data.reading import READING_KEYS, Reading, described
from murmura.data.repeats import DuplicateRule, positives_of
from murmura.data.sources import movielens, synthetic
from murmura.data.sources.source import Source
from murmura.data.tables import interactions_file

# a new source is one file and one row here
SOURCES: Registry[Source] = Registry(
    "data set",
    "murmura.sources",
    {
        source.name: source
        for source in (
            movielens.EMBEDDED,
            movielens.ML_1M,
            movielens.ML_100K,
            movielens.ML_LATEST_SMALL,
            movielens.ML_LATEST,
        )
    }
    | {  # of the papers
        "amazon-digital-music": "murmura.lab.sources.amazon:DIGITAL_MUSIC",
        "foursquare-italy": "murmura.lab.sources.foursquare:ITALY",
        "foursquare-brazil": "murmura.lab.sources.foursquare:BRAZIL",
        "foursquare-canada": "murmura.lab.sources.foursquare:CANADA",
        "yahoo-movies": "murmura.lab.sources.linked_subsets:YAHOO_MOVIES",
        "facebook-books": "murmura.lab.sources.linked_subsets:FACEBOOK_BOOKS",
        "librarything": "murmura.lab.sources.librarything:LIBRARYTHING",
        "gowalla": "murmura.lab.sources.graph_splits:GOWALLA",
        "yelp18": "murmura.lab.sources.graph_splits:YELP18",
        "amazon-book": "murmura.lab.sources.graph_splits:AMAZON_BOOK",
        "mnist": "murmura.lab.classification.mnist:MNIST",
        "celeba": "murmura.lab.classification.celeba:CELEBA",
    },
    "a Source whose name is that of its entry point",
    lambda name, found: found if isinstance(found, Source) and found.name == name else None,
)
ALIASES = {"embedded": movielens.EMBEDDED.name, "demo": movielens.EMBEDDED.name}
MADE_UP: dict[str, Callable[[], Dataset]] = {"synth": synthetic.synth, "checkerboard": synthetic.board}
DATA_DIR = "MURMURA_DATA"


def load(
    name_or_path: str | Path | object,
    data_dir: Path | str | None = None,
    *,
    skip_bad: bool = False,
    columns: Mapping[str, str | int] | None = None,
    separator: str | None = None,
    header: bool | None = None,
    repeats: DuplicateRule = "keep",
    positive_from: float | None = None,
    item_names: Path | str | None = None,
    features: Path | str | None = None,
    mapping: Path | str | None = None,
    labels: Path | str | None = None,
    hops: int = 2,
    feature_items: int | None = None,
    exclude: Sequence[Sequence[str]] = (EXCLUDED,),
    attributes: Path | str | None = None,
) -> Dataset:
    """A data set by its name, or from a file or folder of your own, with features of its items.

    Args:
        name_or_path: A name of `SOURCES`, `synth` or `checkerboard`, a table (CSV, TSV, Parquet), or a folder
            shaped like a source's; or a frame of pandas or polars, or a matrix of scipy.sparse.
        data_dir: Where the folders of the sources lie; without it the environment variable MURMURA_DATA.
        skip_bad: Leave bad rows out and report them in `Dataset.notes`, instead of refusing the file.
        columns: For a table: which column is the user, item, value, time, category: its name, or place from 1.
        separator: For a table in text: what separates fields; None: found out.
        header: For a table in text: whether its first line names the columns; None: found out.
        repeats: For a table: what becomes of rows in which a user meets an item again: `keep` leaves them to
            the protocol, `latest` keeps the latest, `sum` adds up their values, `refuse` refuses them.
        positive_from: A row of at least this value is a like, in training and as relevant; None: every row is,
            but those of negative value where there are any.
        item_names: A table of items and their names.
        features: What is known of the items, in place of the source's own features: a table of items and
            features, or a knowledge graph (N-Triples, Turtle, triples, edge lists: a file or a folder).
        mapping: A file that says where items stand in the graph; without it at the source's links, or under
            their own ids.
        labels: A file with names of entities and predicates.
        hops: How far from an item a graph is explored.
        feature_items: A feature counts when so many items have it; None: any of a table, 11 of a graph.
        exclude: The predicates of a graph that are not followed, hop by hop.
        attributes: What users say of themselves: a table with a column `user` and columns of numbers from 0 to
            1, or true and false.
    """
    given = {key: value for key, value in locals().items() if key in READING_KEYS and value is not None}
    how = Reading(**given)
    if not isinstance(name_or_path, str | Path):
        return (
            from_sparse(name_or_path, reading=how)
            if is_sparse(name_or_path)
            else from_frame(name_or_path, reading=how)
        )
    return read_data(name_or_path, data_dir, how)


def read_data(name_or_path: str | Path, data_dir: Path | str | None, how: Reading) -> Dataset:
    """What `load` does, for settings that are checked already."""
    sys.audit("murmura.load", str(name_or_path))  # a process without held-out rows refuses this
    return described(_load(name_or_path, data_dir, how), how)


def one_person(name: str, user: str, data_dir: Path | None = None, how: Reading | None = None) -> Interactions:
    """The rows of one user of a data set, by time or else as they stand; a file of one user needs no name."""
    data = liked_rows(read_data(name, data_dir, how or Reading()))
    if not user and data.n_users != 1:
        raise DataError(
            f"{name} must hold the rows of one person, but has {data.n_users}; say whose with --user."
        )
    code = data.users.index([user], "user")[0] if user else 0
    own = data.rows(data.user == code)
    return own if own.time is None else own.rows(np.argsort(own.time, kind="stable"))


def liked_rows(found: Dataset) -> Interactions:
    """The rows of a data set that are likes, where somebody said which are; otherwise all of them."""
    if found.positive_from is None:
        return found.interactions
    return positives_of(found.name, found.interactions, found.positive_from)


def _load(name_or_path: str | Path, data_dir: Path | str | None, how: Reading) -> Dataset:
    name = name_or_path if isinstance(name_or_path, str) else ""  # a Path is never one of our names
    path = Path(name_or_path)
    source = find_source(name)
    if source is not None or name in MADE_UP or path.is_dir():
        how.refuse_for(str(name_or_path))
    if name in MADE_UP:
        return MADE_UP[name]()
    if source is not None:
        return source.load(_folder_of(source, data_dir), how.skip_bad)
    if path.is_dir():
        return recognise(path).load(path, how.skip_bad)
    if not name or interactions_file.looks_like_a_file(name) or path.exists():
        return interactions_file.read(path, how)
    raise SettingError(unknown_name(name))


def source_named(name: str) -> Source:
    """The description of a source; refuses a name nobody knows."""
    source = find_source(name)
    if source is None:
        raise SettingError(unknown_name(name))
    return source


def find_source(name: str) -> Source | None:
    """The description of a source; None where the name is nobody's."""
    known = ALIASES.get(name, name)
    return SOURCES.get(known) if known in SOURCES else None


def every_source() -> dict[str, Source]:
    """All sources by name; a broken package is refused when it is named, and left out here."""
    found: dict[str, Source] = {}
    for name in SOURCES:
        with suppress(SettingError):
            found[name] = SOURCES.get(name)
    return found


def unknown_name(name: str) -> str:
    """The sentence for a data set nobody knows, with the nearest name that somebody does."""
    hint = did_you_mean(name, [*SOURCES, *ALIASES, *MADE_UP], f"it is one of {', '.join(SOURCES)}, or a file.")
    return f"there is no data set '{name}': {hint}"


def data_folder(data_dir: Path | str | None) -> Path | None:
    """The folder with the folders of the sources: the one given, or that of MURMURA_DATA."""
    named = data_dir or os.environ.get(DATA_DIR)
    return Path(named) if named else None


def recognise(folder: Path) -> Source:
    """The source a folder is shaped like: by its name first, then by the files in it."""
    known = every_source().values()
    by_name = [source for source in known if source.name == folder.name]
    by_files = [source for source in known if source.own_names]
    for source in [*by_name, *by_files]:
        if source.fits(folder):
            return source
    for source in known:
        if source.like is not None and (found := source.like(folder)) is not None:
            return found
    raise DataError(
        f"{folder}: it must be a file, or a folder shaped like one of {', '.join(SOURCES)}, but it is a folder "
        "with other files; name a file inside it."
    )


def _folder_of(source: Source, data_dir: Path | str | None) -> Path:
    folder = data_folder(data_dir)
    if folder is not None:
        return folder / source.name
    if not source.files:
        return Path()
    raise DataError(
        f"{source.name} is read from a data folder, but none is given: set {DATA_DIR} or pass --data-dir, "
        f"then {source.advice(Path('<data folder>') / source.name)}."
    )
