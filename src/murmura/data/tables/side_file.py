"""Files beside the data, and what they say about items, brought into the order of a vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from murmura.core.arrays import Ids, Ints
from murmura.core.catalogue import Relation
from murmura.core.errors import DataError
from murmura.core.interactions import Vocabulary
from murmura.data.tables.column_kinds import WHOLE, TextLayout, is_whole, quoted, quoted_names, whole_of
from murmura.data.tables.dialect import GUESSES, named, separator_by_name, sniff_separator
from murmura.data.tables.text_file import TextFile
from murmura.data.tables.text_table import clean_fields, left_out, lines

TRIPLES = ("subject", "predicate", "object")  # the header of a table of triples
LONGEST_TEXT = 1_000  # characters of a name or link; one endless text would widen the column of every item


@dataclass(frozen=True, eq=False)
class SideFile:
    """A file beside the data, how it is cut, and the bad rows that were left out of it."""

    text: TextFile
    layout: TextLayout
    names: tuple[str, ...] = ()  # of the header; () where there is none
    item_column: str | None = None  # a usual name in the header, or its first if that speaks of items
    skip_bad: bool = False  # whether bad rows are counted and left out; otherwise the first one is an error
    bad: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def of(text: TextFile, skip_bad: bool = False) -> SideFile:
        """How a file is cut, by its name and its first line; columns of items or of triples make a header."""
        first = text.content.split(b"\n", 1)[0].decode().removesuffix("\r")
        cut = separator_by_name(text.path, first) or sniff_separator(text.path, [first])
        may_quote = cut in (",", ";")
        names = tuple(name.strip('"') if may_quote else name for name in first.split(cut))
        default = next((name for name in GUESSES["item"] if name in names), None)
        item = default or named(names[:1], {}).get("item")
        headed = names == TRIPLES or item is not None
        layout = TextLayout(cut, header=headed, width=len(names), quoted=may_quote)
        return SideFile(text, layout, names if headed else (), item, skip_bad)

    def rows(self, least: int, strict: bool = False) -> Iterator[list[str]]:
        """The rows, each of at least so many fields; strict: of exactly as many, none of them empty."""
        many = f"{least}" if strict else f"at least {least}"
        for line, fields in lines(self.text, self.layout):
            if fields is None or len(fields) < least or (strict and len(fields) > least):
                problem = f"a row must have {many} fields, but this has {len(fields or [])}"
            elif strict and "" in fields:
                problem = f"a row must have {many} fields with something in them, but one is empty"
            else:
                yield fields
                continue
            if not self.skip_bad:
                raise DataError(
                    f"{self.text.path}, line {line}: {problem}; correct the line or get the file again."
                )
            self.bad["wrong fields"] += 1

    def columns(self, width: int, strict: bool = False) -> list[pl.Series]:
        """The first `width` columns of these rows, without a loop where the file is clean."""
        frame = clean_fields(self.text, self.layout, width, ragged=not strict)
        if frame is not None and not any(frame.null_count().row(0)):
            return frame.get_columns()
        rows = list(self.rows(width, strict))
        return [pl.Series([row[place] for row in rows], dtype=pl.String) for place in range(width)]

    def codes(self, items: Vocabulary, ids: pl.Series) -> Ints:
        """The codes of the items of a file whose ids are whole numbers, -1 of those the data does not have."""
        if not is_whole(ids):
            row = int(ids.str.contains(WHOLE).arg_min() or 0)
            raise DataError(
                f"{self.text.path}, row {row + 1}: the item must be a whole number, but is {quoted(ids[row])}; "
                "get the file again."
            )
        return items.find(ids.cast(pl.Int64).to_numpy())

    def known_items(self, items: Vocabulary, ids: pl.Series, notes: list[str]) -> Ints:
        """The codes of the items of the file; those the data does not have are -1, and noted."""
        codes = codes_of(items, ids)
        strange = ids.filter(pl.Series(codes < 0))
        such = quoted_names(strange.unique(maintain_order=True).head(3).to_list())
        if len(ids) and len(strange) == len(ids):
            some = quoted_names([str(label) for label in items.labels[:3].tolist()])
            raise DataError(
                f"{self.text.path}: it must name items of the data such as {some}, but names {such}; name "
                "another file."
            )
        if len(strange):
            rows = "1 entry is of an item" if len(strange) == 1 else f"{len(strange):,} entries are of items"
            notes.append(f"{self.text.path.name}: {rows} that the data does not have ({such}); left out.")
        return codes

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said about the rows that were left out so far."""
        return left_out(self.text.path.name, self.bad)


def codes_of(items: Vocabulary, ids: pl.Series) -> Ints:
    """The code of each id that stands in a file as text, and -1 for an item that is not here."""
    if items.is_text:
        return items.find(ids.to_numpy())
    numbers = whole_of(ids)
    found = items.find(numbers.fill_null(0).to_numpy())
    return np.where(numbers.is_null().to_numpy(), -1, found).astype(np.int32)


def column_for(items: Vocabulary, codes: Ints, texts: Iterable[str]) -> Ids:
    """One text per item of the vocabulary, "" where the file has none; by the items' codes, -1 left out."""
    column = [""] * len(items)
    for code, text in zip(codes.tolist(), texts):
        if code >= 0:
            column[code] = text[:LONGEST_TEXT]
    return np.array(column, np.str_)


def relation_of(item: Ints, labels: Iterable[str]) -> Relation:
    """Pairs of (item, label) by the item's code, -1 and "" left out; labels ascending, each pair once."""
    column = labels if isinstance(labels, pl.Series) else pl.Series(labels, dtype=pl.String)
    names = column.unique().sort()
    names = names.filter(names != "")
    label = column.cast(pl.Enum(names), strict=False).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    kept = (item >= 0) & (label >= 0)
    pairs = np.sort(item[kept].astype(np.int64) * max(len(names), 1) + label[kept])
    once = np.ones(len(pairs), np.bool_)
    once[1:] = pairs[1:] != pairs[:-1]
    place, which = np.divmod(pairs[once], max(len(names), 1))
    return Relation(tuple(names.to_list()), place.astype(np.int32), which.astype(np.int32))
