"""Which rows are likes: those of at least some value; where a pair repeats, its latest row decides."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.data.repeats import latest_rows

ABOVE_ZERO = float(np.nextafter(0, 1))  # where nobody set a threshold and some values are negative


def liked(data: Interactions, positive_from: float) -> Bools:
    """Which rows are likes: their own value reaches the threshold, and so does the latest of their pair."""
    reaches: Bools = data.value >= positive_from
    _, latest = latest_rows(data)
    return reaches & reaches[latest]


def likes_of(name: str, data: Interactions, positive_from: float) -> Interactions:
    """The rows that are likes, over the same vocabularies; refuses a threshold that no row reaches."""
    kept = data.rows(liked(data, positive_from))
    if not len(kept):
        raise DataError(
            f"some rows of '{name}' must have a value of at least {positive_from:g} (positive_from, "
            f"--positive-from), but the largest is {float(data.value.max()):g}; lower it."
        )
    return kept


def likes_sentence(data: Interactions, positive_from: float | None) -> str:
    """What was made of the values, as it stands above a table."""
    low, high = float(data.value.min()), float(data.value.max())
    if positive_from is None:
        spread = (
            ""
            if low == high
            else f", whatever its value ({low:g} to {high:g}; --positive-from sets a threshold)"
        )
        return f"every row is a like{spread}"
    share = f"{liked(data, positive_from).mean():.0%} of the rows".replace("%", " %")
    if positive_from == ABOVE_ZERO:
        return f"values above 0 are likes, as some are negative: {share} (--positive-from sets a threshold)"
    return f"values ≥ {positive_from:g} are likes: {share}"
