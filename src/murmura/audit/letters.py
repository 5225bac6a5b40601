"""What the letters of FedSPLIT and its relatives say of every item, whichever of them sent it."""

from __future__ import annotations

import numpy as np

from murmura.audit.attack import Ratings
from murmura.core.arrays import Floats, Ints
from murmura.core.record import Letter


def letter_table(letter: Letter, items: int) -> Floats:
    """What a letter says of every item: one row each, zero where it says nothing."""
    rows = letter.update.tables["items"]
    table = np.zeros((items, rows.values.shape[1]))
    table[rows.index] = rows.values
    return table


def balanced(
    estimates: Floats, person: Ints, item: Ints, hints: Ratings, totals: Floats, counts: Floats
) -> Floats:
    """Estimates moved so that, with the known ratings, those of each item add up to what the letter says.

    Left as they are: known ratings, and items of which the letter counts other ratings than are asked for.
    """
    items = len(totals)
    keys, known = person.astype(np.int64) * items + item, hints.person.astype(np.int64) * items + hints.item
    told = np.isin(keys, known)
    rest = totals - np.bincount(hints.item, hints.value, minlength=items)
    rest -= np.bincount(item[~told], estimates[~told], minlength=items)
    unknown = np.bincount(item[~told], minlength=items)
    whole = (np.bincount(item, minlength=items) == np.rint(counts)) & (unknown > 0)
    shift = np.where(whole, rest / np.maximum(unknown, 1), 0.0)
    moved: Floats = estimates + np.where(told, 0.0, shift[item])
    return moved
