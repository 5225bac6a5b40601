"""Rows in which a user meets an item again: how many there are, which is the latest, what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.interactions import Interactions
from murmura.data.ordering import order_by

# keep: as they are, for the protocol's rule; latest: the latest row; sum: the latest with all values added up
Repeats = Literal["keep", "latest", "sum", "refuse"]


def by_pair(data: Interactions) -> Longs:
    """The rows ordered by user, item and time; of equal times the later row of the source comes last."""
    time = np.zeros(len(data), np.int64) if data.time is None else data.time
    return order_by(data.user, data.item, time)


def ends_pair(data: Interactions, order: Longs) -> Bools:
    """Which places of `by_pair` hold the latest row of their pair."""
    user, item = data.user[order], data.item[order]
    last = np.ones(len(data), np.bool_)
    last[:-1] = (user[1:] != user[:-1]) | (item[1:] != item[:-1])
    return last


def repeated_rows(data: Interactions) -> int:
    """How many rows are not the latest of their pair."""
    return int(len(data) - ends_pair(data, by_pair(data)).sum())


def latest_rows(data: Interactions) -> tuple[Bools, Longs]:
    """Which rows are the latest of their pair, and for every row which row that is."""
    order = by_pair(data)
    last = ends_pair(data, order)
    is_latest: Bools = np.zeros(len(data), np.bool_)
    is_latest[order[last]] = True
    latest = np.empty(len(data), np.int64)
    pair = np.concatenate(([0], np.cumsum(last)[:-1])) if len(data) else np.zeros(0, np.int64)
    latest[order] = order[last][pair]
    return is_latest, latest


def apply_repeats(data: Interactions, rule: Repeats) -> Interactions:
    """The rows that a rule leaves, in their order."""
    if rule in ("keep", "refuse"):
        return data
    is_latest, latest = latest_rows(data)
    if rule == "sum":
        summed: Floats = np.bincount(latest, data.value, minlength=len(data)).astype(np.float64)
        data = replace(data, value=summed)
    return data.rows(is_latest)


def repeats_sentence(rows: int, rule: Repeats) -> str:
    """What a reader must know of repeated pairs; "" of none."""
    if not rows:
        return ""
    many = "1 row repeats a pair" if rows == 1 else f"{rows:,} rows repeat a pair"
    done = {
        "keep": "the protocol says which counts, the latest unless it has a rule of its own",
        "latest": "the latest row counts",
        "sum": "the values of a pair are added up",
    }
    return f"{many} of user and item: {done.get(rule, '')} (--repeats)"
