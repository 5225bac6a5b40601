"""Features that a user brings to a data set: a table or a knowledge graph, a mapping, and names to read."""

from __future__ import annotations

from collections import Counter
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
from murmura.data.graphs.exploration import EXCLUDED, FREQUENT, Exploration, explore
from murmura.data.graphs.feature_table import read_features, read_labels, read_mapping
from murmura.data.graphs.graph_triples import Graph, is_graph, read_graph, table_of_triples, whole_graph
from murmura.data.tables.column_kinds import quoted_names
from murmura.data.tables.side_file import TRIPLES, SideFile, column_for, relation_of
from murmura.data.tables.text_file import read_text


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
    def rules(self) -> Exploration:
        """How a graph is explored."""
        return Exploration(hops=self.hops, feature_items=self.feature_items or FREQUENT, exclude=self.exclude)


def with_features(catalogue: Catalogue, files: FeatureFiles) -> tuple[Catalogue, tuple[str, ...]]:
    """The catalogue with these features in place of its source's, and what is to be said about them."""
    notes: list[str] = []
    if files.features is not None:
        catalogue = _featured(catalogue, files, notes)
    elif files.mapping is not None or files.rules != Exploration():
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
        features = explore(graph.triples, item, entity, files.rules)
    if not len(features.item):
        rules = files.rules
        raise DataError(
            f"{path}: the table must give enough items of the data a feature, but does not; name another file."
            if graph is None
            else f"{path}: {rules.feature_items} items must share a feature within {rules.hops} hops, but none "
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
    if files.mapping is not None or (files.hops, files.exclude) != (Exploration().hops, Exploration().exclude):
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
