"""How a data set is cut into training, validation and test rows: deterministic, each under its own name."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from murmura.core.arrays import Bytes, Longs
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions
from murmura.core.settings import settings
from murmura.core.split import TEST, VALIDATION, Split

Share = Annotated[float, Field(ge=0, lt=1)]


@settings
class TemporalHoldout:
    """Per user the newest floor(test * n) rows are the test part (FPL and FedeRank).

    Rows are ordered by item id before the stable sort by time, newest first: of equal times the lower item id
    goes to the test part. The validation part is cut from the remaining rows by the same rule.
    """

    kind: Literal["temporal"] = "temporal"
    test: Share = 0.2
    validation: Share = 0.0

    def apply(self, data: Interactions) -> Split:
        """Cut the test part off, then the validation part off the rest."""
        newest = _newest_first(data)
        part: Bytes = np.zeros(len(data), np.uint8)
        n = data.user_counts
        n_test = np.floor(self.test * n + 1e-9).astype(np.int64)
        n_validation = np.floor(self.validation * (n - n_test) + 1e-9).astype(np.int64)
        part[newest < (n_test + n_validation)[data.user]] = VALIDATION
        part[newest < n_test[data.user]] = TEST
        return Split(f"temporal(test={self.test:g}, validation={self.validation:g})", data, part)


def _newest_first(data: Interactions) -> Longs:
    """The place of each row in its user's history: 0 is the newest."""
    if data.time is None:
        raise DataError(
            "a temporal split needs a time for every row, but this data has none; split it at random."
        )
    order = np.lexsort((data.item, -data.time, data.user))
    place: Longs = np.empty(len(data), np.int64)
    starts = np.concatenate(([0], np.cumsum(data.user_counts)))
    place[order] = np.arange(len(data)) - starts[data.user[order]]
    return place
