"""What items are said to have: features that a user brings, in a table or a knowledge graph, and names.

A table with a header has a column of items; `predicate` and `object` beside it make a feature of each row, any
other column is a predicate of its own (`item,genre,director`; several values in a cell stand between `|`).
Without header a row is an item and its features, or item, predicate, object where all rows have three fields.
Beside a graph lie a mapping, which says where items stand in it, and labels, the names of what is in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from murmura.core.arrays import Ids, Ints
from murmura.core.catalogue import Catalogue, Relation
from murmura.core.errors import DataError, SettingError
from murmura.core.features import HOP, last_part, predicate_of
from murmura.core.settings import Flag, settings
from murmura.data.graphs.knowledge_graph import (
    EXCLUDED,
    FREQUENT,
    Graph,
    explore,
    is_graph,
    read_graph,
    table_of_triples,
    whole_graph,
)
from murmura.data.tables.column_kinds import quoted_names
from murmura.data.tables.side_file import TRIPLES, SideFile, column_for, relation_of
from murmura.data.tables.text_file import read_own_text, read_text

VALUES = "|"  # between several values in one cell
NAMES = ("name", "title", "label", "item_name", "description")  # what a column of names may be called
FeaturePairs = tuple[pl.Series, pl.Series]  # items and features of them, both as text, in the order of the file


def read_features(file: SideFile) -> FeaturePairs:
    """The pairs of a table of features in any of its forms."""
    key = file.item_column
    if key is None:
        return _headless(file)
    triples = set(file.names) == {key, "predicate", "object"}
    named = dict(zip(file.names, file.columns(len(file.names), triples)))
    item = named.pop(key)
    if triples:
        return predicate_and_object([item, named["predicate"], named["object"]])
    if not named:
        raise DataError(
            f"{file.text.path}, line 1: the header must name a column of features beside "
            f"{quoted_names([key])}, but names none; add one."
        )
    items, labels = zip(*(_column(item, name, cells) for name, cells in named.items()))
    return pl.concat(items), pl.concat(labels)


def predicate_and_object(columns: list[pl.Series], names: Mapping[str, str] = {}) -> FeaturePairs:
    """Item, predicate, object: a feature for each row, `predicate=object`; `names` of numbered predicates."""
    item, predicate, thing = columns
    written = predicate.unique()
    full = [predicate_of(names.get(name, name), chain=True) for name in written]
    return item, predicate.replace_strict(written, full, return_dtype=pl.String) + "=" + thing


def listed_features(file: SideFile) -> FeaturePairs:
    """An item and then its features in each row, as many as it has."""
    rows = list(file.rows(1))
    owner = [row[0] for row in rows for _ in row[1:]]
    labels = [label for row in rows for label in row[1:]]
    return pl.Series(owner, dtype=pl.String), pl.Series(labels, dtype=pl.String)


def read_mapping(file: SideFile) -> tuple[pl.Series, pl.Series]:
    """Items and where each stands in the graph: an item, perhaps its title, and last the entity."""
    columns = file.columns(3 if file.layout.width >= 3 else 2)
    return columns[0], columns[-1]


def read_labels(file: SideFile) -> dict[str, str]:
    """What to call entities and predicates: one and its name in each row; the last name of one counts."""
    whole = replace(file, layout=replace(file.layout, header=False))
    entity, name = whole.columns(2, strict=True)
    return dict(zip(entity, name))


def with_names(catalogue: Catalogue, path: Path) -> tuple[Catalogue, tuple[str, ...]]:
    """The catalogue with the names of a file in place of its source's, and what is to be said about them."""
    text, said = read_own_text(path)
    file, notes = SideFile.of(text), list(said)
    ids, names = _names(file)
    column = column_for(catalogue.items, file.known_items(catalogue.items, ids, notes), names)
    without = int((column == "").sum())
    if without:
        notes.append(f"{path.name}: {without:,} of {len(column):,} items have no name; their ids are shown.")
    return replace(catalogue, names=column), tuple(notes)


def _names(file: SideFile) -> tuple[pl.Series, pl.Series]:
    """Items and names: by the header, otherwise the first column and the second."""
    width = file.layout.width
    if width < 2:
        raise DataError(
            f"{file.text.path}: it must have a column of items and one of their names, but has one column; add "
            "the other."
        )
    columns = file.columns(width)
    if not file.names:
        return columns[0], columns[1]
    lower = [name.lower() for name in file.names]
    item = file.names.index(file.item_column or file.names[0])
    default_names = [lower.index(name) for name in NAMES if name in lower]
    others = [place for place in range(width) if place != item]
    if not default_names and len(others) > 1:
        raise DataError(
            f"{file.text.path}: a column must be called {' or '.join(NAMES[:2])}, but they are "
            f"{quoted_names(list(file.names))}; rename the one with the names."
        )
    return columns[item], columns[[*default_names, *others][0]]


def _headless(file: SideFile) -> FeaturePairs:
    if file.layout.width == 3:
        anything = replace(file, skip_bad=True, bad=file.bad.copy())
        if all(len(row) == 3 for row in anything.rows(1)):
            return predicate_and_object(file.columns(3, strict=True))
    return listed_features(replace(file, layout=replace(file.layout, quoted=False)))


def _column(item: pl.Series, name: str, cells: pl.Series) -> FeaturePairs:
    """The features of one named column; an empty cell says nothing."""
    frame = pl.DataFrame({"item": item, "cell": cells.str.split(VALUES)}).explode("cell")
    frame = frame.with_columns(pl.col("cell").str.strip_chars()).filter(pl.col("cell") != "")
    start = "" if name == "feature" else predicate_of(name) + "="
    return frame["item"], start + frame["cell"]


def parse_hops(hops: list[str]) -> list[list[str]]:
    """The predicates that are not followed, hop by hop."""
    return [list(filter(None, hop.split(","))) for hop in hops]


@settings
class FeatureFiles:
    """Where features come from, and how they are taken from a graph."""

    # Features of items: a table, or a graph (or folder).
    features: Annotated[Path | None, Flag()] = None
    # Where items stand in the graph.
    mapping: Annotated[Path | None, Flag()] = None
    # Names of entities and predicates.
    labels: Annotated[Path | None, Flag()] = None
    # How far into the graph; default 2.
    hops: Annotated[int, Field(ge=1), Flag()] = 2
    # Items that share a feature; default 11.
    feature_items: Annotated[Annotated[int, Field(ge=1)] | None, Flag()] = None
    # Predicates not to follow; once per hop.
    exclude: Annotated[tuple[tuple[str, ...], ...], Flag(metavar="P[,P]", read=parse_hops, several=True)] = (
        EXCLUDED,
    )
    # Keep the good rows of a file, report the others.
    skip_bad: Annotated[bool, Flag()] = False

    @property
    def rules(self) -> tuple[int, int, tuple[tuple[str, ...], ...]]:
        """How far a graph is explored, how many items must share a feature, and what is not followed."""
        return self.hops, self.feature_items or FREQUENT, self.exclude


def with_features(catalogue: Catalogue, files: FeatureFiles) -> tuple[Catalogue, tuple[str, ...]]:
    """The catalogue with these features in place of its source's, and what is to be said about them."""
    notes: list[str] = []
    if files.features is not None:
        catalogue = _featured(catalogue, files, notes)
    elif files.mapping is not None or files.rules != FeatureFiles().rules:
        raise SettingError(
            "mapping, hops, feature_items, exclude say how features are read, but there are none to read; give "
            "features (--features) too."
        )
    if files.labels is not None:
        catalogue = _labelled(catalogue, files, notes)
    return catalogue, tuple(notes)


def _featured(catalogue: Catalogue, files: FeatureFiles, notes: list[str]) -> Catalogue:
    assert files.features is not None
    path, links = files.features, catalogue.links
    if files.mapping is not None:
        links, item, entity = _mapped(catalogue, files, notes)
    else:  # at the links of their source, or under their own ids
        named = catalogue.items.labels.astype(np.str_) if links is None else links
        item = np.flatnonzero(named != "").astype(np.int32)
        entity = pl.Series(named[item].tolist(), dtype=pl.String)
    graph = _graph(path, files)
    if graph is None:
        features = _table(path, catalogue, files, notes)
    else:
        notes.extend(graph.notes)
        subjects = graph.triples["subject"]
        if not subjects.is_in(entity.to_list()).any():
            raise DataError(
                f"{path}: it must say something of the items, but none of them is a subject such as "
                f"{quoted_names(subjects.head(1).to_list())}; they were looked for as "
                f"{quoted_names(entity.head(3).to_list())}; say where they stand (mapping, --mapping)."
            )
        features = explore(graph.triples, item, entity, *files.rules)
    if not len(features.item):
        hops, least, _ = files.rules
        raise DataError(
            f"{path}: the table must give enough items of the data a feature, but does not; name another file."
            if graph is None
            else f"{path}: {least} items must share a feature within {hops} hops, but none "
            "do; ask for fewer items (feature_items, --feature-items) or say where the items stand (mapping)."
        )
    without = len(catalogue.items) - len(np.unique(features.item))
    if without:
        all_items = len(catalogue.items)
        notes.append(f"{without:,} of {all_items:,} items have no feature in {path.name}; they are kept.")
    return replace(catalogue, features=features, links=links)


def _graph(path: Path, files: FeatureFiles) -> Graph | None:
    """The graph that a path holds; None: it is a table of items."""
    if is_graph(path):
        return read_graph(path, files.skip_bad)
    file = SideFile.of(read_text(path), files.skip_bad)
    if file.names != TRIPLES and (file.names or files.mapping is None):
        return None
    return whole_graph(path, table_of_triples(file), file.notes)


def _table(path: Path, catalogue: Catalogue, files: FeatureFiles, notes: list[str]) -> Relation:
    if files.mapping is not None or files.rules[::2] != FeatureFiles().rules[::2]:
        raise SettingError(
            f"mapping, hops and exclude are for a graph, but {path} is a table of items; leave them out."
        )
    file = SideFile.of(read_text(path), files.skip_bad)
    item, label = read_features(file)
    notes.extend(file.notes)
    codes = pl.Series(file.known_items(catalogue.items, item, notes))
    known = pl.DataFrame({"item": codes, "label": label}).filter(pl.col("item") >= 0).unique()
    often = known.filter(pl.len().over("label") >= (files.feature_items or 1))
    return relation_of(often["item"].to_numpy(), often["label"])


def _mapped(catalogue: Catalogue, files: FeatureFiles, notes: list[str]) -> tuple[Ids, Ints, pl.Series]:
    """The link of every item, and the items with their entities; what is no item of the data is left out."""
    assert files.mapping is not None
    file = SideFile.of(read_text(files.mapping), files.skip_bad)
    ids, entity = read_mapping(file)
    notes.extend(file.notes)
    codes = file.known_items(catalogue.items, ids, notes)
    here = codes >= 0
    return column_for(catalogue.items, codes, entity), codes[here], entity.filter(pl.Series(here))


def _labelled(catalogue: Catalogue, files: FeatureFiles, notes: list[str]) -> Catalogue:
    """The same features under names; what is not named stays as it is."""
    assert files.labels is not None
    file = SideFile.of(read_text(files.labels), files.skip_bad)
    names = read_labels(file)
    notes.extend(file.notes)
    features = catalogue.features
    if features is None:
        raise SettingError(
            f"{files.labels} names features, but the data has none of a graph; give features too."
        )
    labels = _distinct(features.labels, tuple(_named(label, names) for label in features.labels))
    if labels == features.labels:
        notes.append(f"{files.labels.name}: nothing in it is part of a feature, so no name was used.")
    return replace(catalogue, features=replace(features, labels=labels))


def _named(label: str, names: dict[str, str]) -> str:
    predicate, sign, thing = label.partition("=")
    if not sign:
        return names.get(label, label)
    hops = (predicate_of(names[hop]) if hop in names else hop for hop in predicate.split(HOP))
    return f"{HOP.join(hops)}={names.get(thing, thing)}"


def _distinct(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """Names of features; where two would share one, each says its entity too, and keeps its label at worst."""
    for more in (lambda old, new: f"{new} ({last_part(old.partition('=')[2] or old)})", lambda old, _: old):
        count = Counter(after)
        after = tuple(new if count[new] == 1 else more(old, new) for old, new in zip(before, after))
    return after if len(set(after)) == len(after) else before
