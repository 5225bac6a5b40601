"""The short head: the items everybody knows, by one definition for criteria and metrics."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools, Longs

HEAD_PERCENT = 80


def short_head(counts: Longs, ties: Longs | None = None) -> Bools:
    """Which items are popular, (items,): `ties` lists all items in the order that breaks equal popularity.

    The most popular ones, ties by the lower item id, until together they reach 80 % of all interactions, the
    item that crosses included; an item without an interaction is not among them.
    """
    order = np.arange(len(counts)) if ties is None else ties
    order = order[np.argsort(-counts[order], kind="stable")]
    before = np.cumsum(counts[order]) - counts[order]
    head: Bools = np.zeros(len(counts), np.bool_)
    # an item belongs to the head while the ones before it hold less than 80 %; in whole numbers, so exactly
    head[order[100 * before < HEAD_PERCENT * counts.sum()]] = True
    return head & (counts > 0)
