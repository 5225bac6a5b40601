"""What the updates of FedSPLIT and its relatives say of every item, whichever of them sent it."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.contract import History
from murmura.core.update import SentUpdate


def update_table(sent_update: SentUpdate, items: int) -> Floats:
    """What an update says of every item: one row each, zero where it says nothing."""
    rows = sent_update.update.tables["items"]
    table = np.zeros((items, rows.values.shape[1]))
    table[rows.index] = rows.values
    return table


def known_values(hints: History, person: Ints, item: Ints) -> Floats:
    """The known ratings among those asked for; NaN for the others."""
    width = int(max(item.max(initial=0), hints.item.max(initial=0))) + 1
    keys, known = person.astype(np.int64) * width + item, hints.owners.astype(np.int64) * width + hints.item
    values = np.full(len(keys), np.nan)
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known[order], keys), max(0, len(known) - 1))
    if len(known):
        found = known[order][place] == keys
        values[found] = hints.value[order][place[found]]
    return values


def balanced(
    estimates: Floats, person: Ints, item: Ints, hints: History, totals: Floats, counts: Floats
) -> Floats:
    """Estimates moved so that, with the known ratings, those of each item add up to what the update says.

    Left as they are: known ratings, and items of which the update counts other ratings than are asked for.
    """
    items, known = len(totals), known_values(hints, person, item)
    told = ~np.isnan(known)
    rest = totals - np.bincount(item, np.where(told, known, estimates), minlength=items)
    unknown = np.bincount(item[~told], minlength=items)
    whole = (np.bincount(item, minlength=items) == np.rint(counts)) & (unknown > 0)
    shift = np.where(whole, rest / np.maximum(unknown, 1), 0.0)
    moved: Floats = estimates + np.where(told, 0.0, shift[item])
    return moved
