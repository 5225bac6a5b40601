"""Tables that say of each item what features it has, and the small files beside a graph.

A table with a header has a column of items; `predicate` and `object` beside it make a feature of each row, any
other column is a predicate of its own (`item,genre,director`; several values in a cell stand between `|`).
Without header a row is an item and its features, or item, predicate, object where all rows have three fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from murmura.core.arrays import Ints
from murmura.core.errors import DataError
from murmura.core.features import predicate_of
from murmura.core.interactions import Vocabulary
from murmura.data.graphs.graph_triples import COLUMNS
from murmura.data.sources.item_features import codes_of, side_columns, side_rows
from murmura.data.tables.column_kinds import quoted_names
from murmura.data.tables.dialect import GUESSES, named, separator_by_name, sniff_separator
from murmura.data.tables.text_file import TextFile

VALUES = "|"  # between several values in one cell


@dataclass(frozen=True, eq=False)
class FeaturePairs:
    """Items and features of them, both as text, in the order of the file."""

    item: pl.Series
    label: pl.Series


@dataclass(frozen=True)
class SideLayout:
    """How a file beside the data is cut, found out from its name and its first line."""

    separator: str
    quoted: bool
    header: tuple[str, ...]  # () where there is none
    width: int

    @staticmethod
    def of(text: TextFile) -> SideLayout:
        """The layout of a file; a header is known by a column of items, or by those of triples."""
        first = text.content.split(b"\n", 1)[0].decode().removesuffix("\r")
        cut = separator_by_name(text.path, first) or sniff_separator(text.path, [first])
        quoted = cut in (",", ";")
        names = tuple(name.strip('"') if quoted else name for name in first.split(cut))
        headed = names == COLUMNS or _item_column(names) is not None
        return SideLayout(cut, quoted, names if headed else (), len(names))

    @property
    def item_place(self) -> int:
        """Where the items stand; in the first column where no header says it."""
        key = _item_column(self.header)
        return 0 if key is None else self.header.index(key)

    @property
    def is_graph(self) -> bool:
        """Whether the header says that the rows are triples."""
        return self.header == COLUMNS


def read_features(text: TextFile, bad: Counter[str] | None = None) -> FeaturePairs:
    """The pairs of a table of features in any of its forms."""
    layout = SideLayout.of(text)
    if not layout.header:
        return _headless(text, layout, bad)
    key = _item_column(layout.header)
    assert key is not None  # which is what makes it a header
    triples = set(layout.header) == {key, "predicate", "object"}
    columns = side_columns(text, layout.separator, layout.width, True, layout.quoted, triples, bad)
    named = dict(zip(layout.header, columns))
    item = named.pop(key)
    if triples:
        return predicate_and_object([item, named["predicate"], named["object"]])
    if not named:
        raise DataError(
            f"{text.path}, line 1: the header must name a column of features beside {quoted_names([key])}, but "
            "names none; add one."
        )
    parts = [_column(item, name, cells) for name, cells in named.items()]
    return FeaturePairs(pl.concat([part.item for part in parts]), pl.concat([part.label for part in parts]))


def predicate_and_object(columns: list[pl.Series], names: Mapping[str, str] | None = None) -> FeaturePairs:
    """Item, predicate, object: a feature for each row, `predicate=object`; `names` of numbered predicates."""
    item, predicate, thing = columns
    known = names or {}
    written = predicate.unique()
    full = [predicate_of(known.get(name, name), chain=True) for name in written]
    return FeaturePairs(item, predicate.replace_strict(written, full, return_dtype=pl.String) + "=" + thing)


def listed_features(text: TextFile, separator: str = "\t", bad: Counter[str] | None = None) -> FeaturePairs:
    """An item and then its features in each row, as many as it has."""
    rows = list(side_rows(text, separator, 1, bad=bad))
    owner = [row[0] for row in rows for _ in row[1:]]
    labels = [label for row in rows for label in row[1:]]
    return FeaturePairs(pl.Series(owner, dtype=pl.String), pl.Series(labels, dtype=pl.String))


def read_mapping(text: TextFile, bad: Counter[str] | None = None) -> tuple[pl.Series, pl.Series]:
    """Items and where each stands in the graph: an item, perhaps its title, and last the entity."""
    layout = SideLayout.of(text)
    width = 3 if layout.width >= 3 else 2
    headed = bool(layout.header)
    columns = side_columns(text, layout.separator, width, headed, layout.quoted, bad=bad)
    return columns[0], columns[-1]


def read_labels(text: TextFile, bad: Counter[str] | None = None) -> dict[str, str]:
    """What to call entities and predicates: one and its name in each row; the last name of one counts."""
    layout = SideLayout.of(text)
    entity, name = side_columns(text, layout.separator, 2, False, layout.quoted, strict=True, bad=bad)
    return dict(zip(entity, name))


def known_items(path: Path, items: Vocabulary, ids: pl.Series, notes: list[str]) -> Ints:
    """The codes of the items of a file; those the data does not have are -1, and noted."""
    codes = codes_of(items, ids)
    strange = ids.filter(pl.Series(codes < 0))
    if len(ids) and len(strange) == len(ids):
        raise DataError(
            f"{path}: it must name items of the data such as {quoted_names(_some(items))}, but names "
            f"{quoted_names(ids.unique(maintain_order=True).head(3).to_list())}; name another file."
        )
    if len(strange):
        rows = "1 entry is of an item" if len(strange) == 1 else f"{len(strange):,} entries are of items"
        such = quoted_names(strange.unique(maintain_order=True).head(3).to_list())
        notes.append(f"{path.name}: {rows} that the data does not have ({such}); left out.")
    return codes


def _headless(text: TextFile, layout: SideLayout, bad: Counter[str] | None) -> FeaturePairs:
    if layout.width == 3 and _rectangular(text, layout):
        columns = side_columns(text, layout.separator, 3, quoted=layout.quoted, strict=True, bad=bad)
        return predicate_and_object(columns)
    return listed_features(text, layout.separator, bad)


def _rectangular(text: TextFile, layout: SideLayout) -> bool:
    rows = side_rows(text, layout.separator, 1, quoted=layout.quoted, bad=Counter())
    return all(len(row) == layout.width for row in rows)


def _column(item: pl.Series, name: str, cells: pl.Series) -> FeaturePairs:
    """The features of one named column; an empty cell says nothing."""
    frame = pl.DataFrame({"item": item, "cell": cells.str.split(VALUES)}).explode("cell")
    frame = frame.with_columns(pl.col("cell").str.strip_chars()).filter(pl.col("cell") != "")
    start = "" if name == "feature" else predicate_of(name) + "="
    return FeaturePairs(frame["item"], start + frame["cell"])


def _item_column(names: Sequence[str]) -> str | None:
    """The column of items: one of the usual names anywhere, or the first one if it speaks of items."""
    usual = next((name for name in GUESSES["item"] if name in names), None)
    return usual or named(names[:1], {}).get("item")


def _some(items: Vocabulary) -> list[str]:
    return [str(label) for label in items.labels[:3].tolist()]
