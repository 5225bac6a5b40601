"""What side files say about items, brought into the order of a vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from murmura.core.arrays import Ids, Ints, Longs
from murmura.core.catalogue import Relation
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, Vocabulary
from murmura.data.tables.column_kinds import WHOLE, TextLayout, is_whole, quoted, whole_of
from murmura.data.tables.text_file import TextFile
from murmura.data.tables.text_table import lines

LONGEST_TEXT = 1_000  # characters of a name or link; one endless text would widen the column of every item


def side_rows(
    text: TextFile,
    separator: str,
    least: int,
    header: bool = False,
    quoted: bool = False,
    strict: bool = False,
    bad: Counter[str] | None = None,
) -> Iterator[list[str]]:
    """The rows of a side file, each of at least `least` fields.

    Args:
        text: The file.
        separator: What stands between fields.
        least: How many fields a row has.
        header: Whether the first row names the columns.
        quoted: Whether fields may be quoted.
        strict: A row has exactly `least` fields, none of them empty.
        bad: Where bad rows are counted and left out; None: the first one is an error.
    """
    layout = TextLayout(separator, {}, header=header, quoted=quoted)
    many = f"{least}" if strict else f"at least {least}"
    for line, fields in lines(text, layout):
        if fields is None or len(fields) < least or (strict and len(fields) > least):
            problem = f"a row must have {many} fields, but this has {len(fields or [])}"
        elif strict and "" in fields:
            problem = f"a row must have {many} fields with something in them, but one is empty"
        else:
            yield fields
            continue
        if bad is None:
            raise DataError(f"{text.path}, line {line}: {problem}; correct the line or get the file again.")
        bad["wrong fields"] += 1


def side_columns(
    text: TextFile,
    separator: str,
    width: int,
    header: bool = False,
    quoted: bool = False,
    strict: bool = False,
    bad: Counter[str] | None = None,
) -> list[pl.Series]:
    """The first `width` columns of a side file: fast where it is clean, otherwise by `side_rows`."""
    names = [str(place) for place in range(width)]
    clean = not (quoted and b'"' in text.content)
    frame = _fast_columns(text, separator, names, header, strict) if clean else None
    if frame is None or any(frame[name].null_count() for name in names):
        rows = list(side_rows(text, separator, width, header, quoted, strict, bad))
        return [pl.Series([row[place] for row in rows], dtype=pl.String) for place in range(width)]
    return frame.get_columns()


def _fast_columns(
    text: TextFile, separator: str, names: list[str], header: bool, strict: bool
) -> pl.DataFrame | None:
    try:
        return pl.read_csv(
            text.content.rstrip(b"\r\n"), separator=separator, has_header=False, skip_lines=int(header),
            quote_char=None, schema=dict.fromkeys(names, pl.String), truncate_ragged_lines=not strict,
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None


def number_ids(text: TextFile, ids: Iterable[str]) -> Longs:
    """The ids of a side file whose items are whole numbers."""
    column = ids if isinstance(ids, pl.Series) else pl.Series(ids, dtype=pl.String)
    if not is_whole(column):
        row = int(column.str.contains(WHOLE).arg_min() or 0)
        raise DataError(
            f"{text.path}, row {row + 1}: the item must be a whole number, but is {quoted(column[row])}; "
            "get the file again."
        )
    return column.cast(pl.Int64).to_numpy()


def column_for(items: Vocabulary, ids: Ids, texts: Iterable[str]) -> Ids:
    """One text per item of the vocabulary, "" where the side file has none."""
    column = [""] * len(items)
    for code, text in zip(items.find(ids).tolist(), texts):
        if code >= 0:
            column[code] = text[:LONGEST_TEXT]
    return np.array(column, np.str_)


def relation_for(items: Vocabulary, ids: Ids, labels: Iterable[str]) -> Relation:
    """Pairs of (item, label), labels ascending, each pair once; items outside the vocabulary are left out."""
    return relation_of_codes(items.find(ids), labels)


def relation_of_rows(interactions: Interactions, labels: Iterable[str]) -> Relation:
    """The labels that the rows themselves carry: an item has every label of its rows, "" excepted."""
    return relation_of_codes(interactions.item, labels)


def codes_of(items: Vocabulary, ids: pl.Series) -> Ints:
    """The code of each id that stands in a file as text, and -1 for an item that is not here."""
    if items.is_text:
        return items.find(ids.to_numpy())
    numbers = whole_of(ids)
    found = items.find(numbers.fill_null(0).to_numpy())
    return np.where(numbers.is_null().to_numpy(), -1, found).astype(np.int32)


def relation_of_codes(item: Ints, labels: Iterable[str]) -> Relation:
    """Pairs of (item, label) by the item's code, -1 left out; labels ascending, each pair once."""
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
