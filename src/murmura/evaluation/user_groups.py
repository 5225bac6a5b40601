"""Groups of people whose lists are looked at apart: by how active they are, and by what they say they are."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools
from murmura.core.interactions import Interactions

LIGHT, MIDDLE, HEAVY = "light", "middle", "heavy"


def user_groups(train: Interactions) -> dict[str, Bools]:
    """Every group by its name, a mask over all people each: those by activity, then two for each attribute."""
    said: dict[str, Bools] = {}
    for name, column in sorted(train.attributes.items()):
        said |= {name: column >= 0.5, f"not {name}": column < 0.5}  # in neither where nothing is known
    return {**activity_groups(train), **said}


def activity_groups(train: Interactions) -> dict[str, Bools]:
    """Light, middle and heavy users: up to the lower quartile of training rows, between, from the upper one on.

    People with equally many rows are in one group; where both quartiles are equal they are light.
    """
    rows = train.user_counts
    active: Bools = rows > 0
    if not active.any():
        return {name: np.zeros(len(rows), np.bool_) for name in (LIGHT, MIDDLE, HEAVY)}
    low = np.quantile(rows[active], 0.25, method="lower")
    high = np.quantile(rows[active], 0.75, method="higher")
    light = active & (rows <= low)
    heavy = active & (rows >= high) & ~light
    return {LIGHT: light, MIDDLE: active & ~light & ~heavy, HEAVY: heavy}
