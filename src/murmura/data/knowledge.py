"""What side files say about items, brought into the order of a vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from murmura.core.arrays import Ids
from murmura.core.catalogue import Relation
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions, Vocabulary
from murmura.data.careful import lines
from murmura.data.layout import BadValueError, Kind, Layout, parse, shown
from murmura.data.reading import Text


def side_rows(
    text: Text, separator: str, least: int, header: bool = False, quoted: bool = False
) -> Iterator[list[str]]:
    """The rows of a side file, each of at least `least` fields."""
    layout = Layout(separator, {}, header=header, quoted=quoted)
    for line, fields in lines(text, layout):
        if fields is None or len(fields) < least:
            raise DataError(
                f"{text.path}, line {line}: a row must have at least {least} fields, but this has "
                f"{len(fields or [])}; get the file again."
            )
        yield fields


def number_ids(text: Text, ids: Sequence[str]) -> list[int]:
    """The ids of a side file whose items are whole numbers."""
    found = []
    for place, item in enumerate(ids, 1):
        try:
            found.append(int(parse(Kind.NUMBER_ID, item)))
        except BadValueError:
            raise DataError(
                f"{text.path}, row {place}: the item must be a whole number, but is {shown(item)}; "
                "get the file again."
            ) from None
    return found


def column_for(items: Vocabulary, ids: Sequence[Any], texts: Sequence[str]) -> Ids:
    """One text per item of the vocabulary, "" where the side file has none."""
    column = [""] * len(items)
    for code, text in zip(items.find(_as_array(ids)).tolist(), texts):
        if code >= 0:
            column[code] = text
    return np.array(column, np.str_)


def relation_for(items: Vocabulary, ids: Sequence[Any], labels: Sequence[str]) -> Relation:
    """Pairs of (item, label), labels ascending, each pair once; items outside the vocabulary are left out."""
    names = sorted(set(labels))
    code_of = {name: code for code, name in enumerate(names)}
    label = np.fromiter((code_of[name] for name in labels), np.int64, len(labels))
    item = items.find(_as_array(ids)).astype(np.int64)
    pairs = np.unique(item[item >= 0] * max(len(names), 1) + label[item >= 0])
    place, which = np.divmod(pairs, max(len(names), 1))
    return Relation(tuple(names), place.astype(np.int32), which.astype(np.int32))


def relation_of_rows(interactions: Interactions, labels: Iterable[str]) -> Relation:
    """The labels that the rows themselves carry: an item has every label of its rows, "" excepted."""
    names, label = np.unique(np.array(list(labels), np.str_), return_inverse=True)
    pairs = np.unique(interactions.item.astype(np.int64) * len(names) + label)
    item, which = np.divmod(pairs, len(names))
    named = names[which] != ""
    shift = int(names[0] == "")
    kept = (which[named] - shift).astype(np.int32)
    return Relation(tuple(names[shift:].tolist()), item[named].astype(np.int32), kept)


def _as_array(ids: Sequence[Any]) -> Ids:
    return np.asarray(ids) if len(ids) else np.zeros(0, np.int64)
