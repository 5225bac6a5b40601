"""What items are called, from a table of one's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from murmura.core.catalogue import Catalogue
from murmura.core.errors import DataError
from murmura.data.graphs.feature_table import SideLayout, known_items
from murmura.data.sources.item_features import column_for, side_columns
from murmura.data.tables.column_kinds import quoted_names
from murmura.data.tables.text_file import TextFile, read_own_text

NAMES = ("name", "title", "label", "item_name", "description")  # what a column of names may be called


def with_names(catalogue: Catalogue, path: Path, skip_bad: bool = False) -> tuple[Catalogue, tuple[str, ...]]:
    """The catalogue with the names of a file in place of its source's, and what is to be said about them."""
    text, said = read_own_text(path)
    ids, names = _columns(text)
    notes = list(said)
    codes = known_items(path, catalogue.items, ids, notes)
    here = codes >= 0
    column = column_for(catalogue.items, catalogue.items.labels[codes[here]], names.filter(pl.Series(here)))
    without = int((column == "").sum())
    if without:
        notes.append(f"{path.name}: {without:,} of {len(column):,} items have no name; their ids are shown.")
    return replace(catalogue, names=column), tuple(notes)


def _columns(text: TextFile) -> tuple[pl.Series, pl.Series]:
    """Items and names: by the header, otherwise the first column and the second."""
    layout = SideLayout.of(text)
    if layout.width < 2:
        raise DataError(
            f"{text.path}: it must have a column of items and one of their names, but has one column; add the "
            "other."
        )
    columns = side_columns(text, layout.separator, layout.width, bool(layout.header), layout.quoted)
    if not layout.header:
        return columns[0], columns[1]
    lower = [name.lower() for name in layout.header]
    place = next((lower.index(name) for name in NAMES if name in lower), None)
    item = layout.item_place
    if place is None:
        others = [at for at in range(layout.width) if at != item]
        if len(others) > 1:
            raise DataError(
                f"{text.path}: a column must be called {' or '.join(NAMES[:2])}, but they are "
                f"{quoted_names(list(layout.header))}; rename the one with the names."
            )
        place = others[0]
    return columns[item], columns[place]
