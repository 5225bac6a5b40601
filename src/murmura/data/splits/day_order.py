"""Times cut to whole days after a split: what came first inside a day is hidden, and the parts stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from murmura.core.arrays import Longs
from murmura.core.errors import DataError
from murmura.core.split import Split

Order = Literal["real", "day"]  # of a person's rows, as methods see it
DAY = 86_400  # seconds


def begin_of_day(time: Longs) -> Longs:
    """When the day (UTC) of each time began."""
    begun: Longs = time - time % DAY
    return begun


def cut_to_days(split: Split) -> Split:
    """The same parts, every time that of its day's beginning (UTC), rows by user, item and day.

    Rows in the order of their source would tell what the times no longer do.
    """
    data = split.data
    if data.time is None:
        raise DataError(
            "order=day needs a time for every row, but this data has none; leave the order out (--order real)."
        )
    day = begin_of_day(data.time)
    order = np.lexsort((data.value, day, data.item, data.user))
    return Split(split.name, replace(data, time=day).rows(order), split.part[order])
