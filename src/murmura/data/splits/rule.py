"""The one way a split is made: a rule holds rows out for the test, then the same rule for the validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from pydantic import Field

from murmura.core.arrays import Bools, Bytes, Longs
from murmura.core.catalogue import TEST, VALIDATION, Split
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions

SplitFraction = Annotated[float, Field(ge=0, lt=1)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Rule = Callable[[Interactions, int], Bools]  # (rows, 0 for the test and 1 for the validation) -> held out


def apply_rule(name: str, data: Interactions, rule: Rule, validation: bool) -> Split:
    """Hold the test rows out by `rule`, then the validation rows out of the rest; nothing else is seen."""
    part: Bytes = np.zeros(len(data), np.uint8)
    held = rule(data, 0)
    part[held] = TEST
    if validation:
        rest = np.flatnonzero(~held)
        part[rest[rule(data.rows(rest), 1)]] = VALIDATION
    return Split(name, data, part)


def floor_fraction(share: float, n: Longs) -> Longs:
    """floor(share * n), where 0.2 * 5 is 1 and not a hair less."""
    whole: Longs = np.floor(share * n + 1e-9).astype(np.int64)
    return whole


def times(data: Interactions, split: str) -> Longs:
    """The times, refused where there are none."""
    if data.time is None:
        raise DataError(
            f"the split '{split}' needs a time for every row, but this data has none; split it at random."
        )
    return data.time
