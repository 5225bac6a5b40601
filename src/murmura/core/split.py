"""A data set cut into training, validation and test rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from murmura.core.arrays import Bytes
from murmura.core.errors import DataError
from murmura.core.interactions import Interactions

TRAIN, VALIDATION, TEST = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Split:
    """Every row of `data` is in one part. `train` is the whole training part, validation rows included.

    Selecting a setting uses `selection()`: a split of the training rows alone, in which the validation rows
    play the test part. The test rows cannot be reached from it.
    """

    name: str
    data: Interactions
    part: Bytes  # (rows,) TRAIN, VALIDATION or TEST

    @cached_property
    def train(self) -> Interactions:
        """The whole training part: what the chosen setting is refitted on."""
        return self.data.rows(self.part != TEST)

    @cached_property
    def test(self) -> Interactions:
        """The test part: opened once, after every choice has been made."""
        return self.data.rows(self.part == TEST)

    def selection(self) -> Split:
        """The split to choose settings on: training minus validation, scored on validation."""
        inside = self.part != TEST
        parts = np.where(self.part[inside] == VALIDATION, TEST, TRAIN).astype(np.uint8)
        if not (parts == TEST).any():
            raise DataError(
                f"choosing settings needs a validation part, but the split '{self.name}' has none; "
                "give the split a validation share above 0."
            )
        return Split(f"{self.name}/selection", self.data.rows(inside), parts)
