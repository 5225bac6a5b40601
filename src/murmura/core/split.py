"""A data set cut into training, validation and test rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np

from murmura.core.arrays import Bytes
from murmura.core.errors import DataError, RunError
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

    def sealed(self) -> SealedSplit:
        """The same cut without its test rows: what is fitted and chosen on."""
        inside = self.part != TEST
        return SealedSplit(self.name, self.data.rows(inside), self.part[inside])


class SealedSplit(Split):
    """A split whose test rows are elsewhere: `data` has the training part alone, over all users and items."""

    @property
    def test(self) -> NoReturn:
        """Not here."""
        raise RunError(
            "the test part must be opened for a choice, but this split is sealed; choose on `selection()`, "
            "then open it once with `prepared.open(run, choice)`."
        )
