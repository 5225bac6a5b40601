"""Rows in order: the place of each in its user's history, repeated pairs, and which rows are likes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions

Key = NDArray[Any]  # (rows,) whole numbers


def order_by(*keys: Key) -> Longs:
    """The rows ordered by the first key, then by the second, ...; equal rows keep their order."""
    if not len(keys[0]):
        return np.zeros(0, np.int64)
    lows = [int(key.min()) for key in keys]
    spans = [int(key.max()) - low + 1 for key, low in zip(keys, lows)]
    combinations = 1
    for span in spans:
        combinations *= span
    if combinations >= 2**63:
        return np.lexsort(keys[::-1])
    one: Longs = np.zeros(len(keys[0]), np.int64)  # all keys in one number: ten times faster than lexsort
    for key, low, span in zip(keys, lows, spans):
        one = one * span + (key - low)
    return np.argsort(one, kind="stable")


def place_in_history(data: Interactions, *keys: Key) -> Longs:
    """The place of each row among its user's rows when these are ordered by `keys`; 0 comes first."""
    order = order_by(data.user, *keys)
    starts = np.concatenate(([0], np.cumsum(data.user_counts)))
    place: Longs = np.empty(len(data), np.int64)
    place[order] = np.arange(len(data)) - starts[data.user[order]]
    return place


# keep: as they are, for the protocol's rule; latest: the latest row; sum: the latest with all values added up
DuplicateRule = Literal["keep", "latest", "sum", "refuse"]


def by_pair(data: Interactions) -> tuple[Longs, Bools]:
    """The rows by user, item and time, equal ones in their order; and which of these are the last of a pair."""
    time = np.zeros(len(data), np.int64) if data.time is None else data.time
    order = order_by(data.user, data.item, time)
    user, item = data.user[order], data.item[order]
    last: Bools = np.ones(len(data), np.bool_)
    last[:-1] = (user[1:] != user[:-1]) | (item[1:] != item[:-1])
    return order, last


def latest_rows(data: Interactions) -> Longs:
    """For every row the latest row of its pair; of equal times the later row of the source."""
    order, last = by_pair(data)
    latest: Longs = np.empty(len(data), np.int64)
    latest[order] = order[last][np.cumsum(last) - last]
    return latest


def is_latest(data: Interactions) -> Bools:
    """Which rows are the latest of their pair."""
    latest: Bools = latest_rows(data) == np.arange(len(data))
    return latest


def merge_duplicates(data: Interactions, rule: DuplicateRule) -> Interactions:
    """The rows that a rule leaves, in their order."""
    if rule in ("keep", "refuse"):
        return data
    if rule == "sum":
        summed: Floats = np.bincount(latest_rows(data), data.value, minlength=len(data)).astype(np.float64)
        data = replace(data, value=summed)
    return data.rows(is_latest(data))


def duplicates_sentence(data: Interactions, rule: DuplicateRule) -> str:
    """What a reader must know of repeated pairs; "" of none."""
    rows = int((~is_latest(data)).sum())
    if not rows:
        return ""
    many = "1 row repeats a pair" if rows == 1 else f"{rows:,} rows repeat a pair"
    done = {
        "keep": "the protocol says which counts, the latest unless it has a rule of its own",
        "latest": "the latest row counts",
        "sum": "the values of a pair are added up",
    }
    return f"{many} of user and item: {done.get(rule, '')} (--repeats)"


ABOVE_ZERO = float(np.nextafter(0, 1))  # where nobody set a threshold and some values are negative


def liked(data: Interactions, positive_from: float) -> Bools:
    """Which rows are likes: their own value reaches the threshold, and so does the latest of their pair."""
    reaches: Bools = data.value >= positive_from
    return reaches & reaches[latest_rows(data)]


def positives_of(name: str, data: Interactions, positive_from: float) -> Interactions:
    """The rows that are likes, over the same vocabularies; refuses a threshold that no row reaches."""
    kept = data.rows(liked(data, positive_from))
    if not len(kept):
        raise DataError(
            f"some rows of '{name}' must have a value of at least {positive_from:g} (positive_from, "
            f"--positive-from), but the largest is {float(data.value.max()):g}; lower it."
        )
    return kept


def positives_sentence(data: Interactions, positive_from: float | None) -> str:
    """What was made of the values, as it stands above a table."""
    low, high = float(data.value.min()), float(data.value.max())
    if positive_from is None:
        spread = f", whatever its value ({low:g} to {high:g}; --positive-from sets a threshold)"
        return "every row is a like" + (spread if low != high else "")
    share = f"{liked(data, positive_from).mean():.0%} of the rows".replace("%", " %")
    if positive_from == ABOVE_ZERO:
        return f"values above 0 are likes, as some are negative: {share} (--positive-from sets a threshold)"
    return f"values ≥ {positive_from:g} are likes: {share}"
