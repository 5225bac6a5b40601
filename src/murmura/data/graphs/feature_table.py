"""Tables that say of each item what features or which name it has, and the small files beside a graph.

A table with a header has a column of items; `predicate` and `object` beside it make a feature of each row, any
other column is a predicate of its own (`item,genre,director`; several values in a cell stand between `|`).
Without header a row is an item and its features, or item, predicate, object where all rows have three fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from murmura.core.catalogue import Catalogue
from murmura.core.errors import DataError
from murmura.core.features import predicate_of
from murmura.data.tables.column_kinds import quoted_names
from murmura.data.tables.side_file import SideFile, column_for
from murmura.data.tables.text_file import read_own_text

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
