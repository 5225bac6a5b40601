"""Samples with labels: what there is to classify, and which of it lies with whom."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats, Ints
from murmura.core.errors import DataError

# who holds samples that are dealt to clients by a split: a source's training file and its test file
TRAIN_FILE, TEST_FILE = "train", "test"


class Classification(NamedTuple):
    """What a classifier is asked: inputs of this shape, labels from 0 and below `classes`."""

    shape: tuple[int, ...]
    classes: int


@dataclass(frozen=True, eq=False)
class SampleTable:
    """What every sample of a data set shows, and how good it is where that is known.

    In `Interactions` a sample is an item, whoever holds it a user, and its label the value of the row.
    """

    classes: int
    stored: NDArray[Any]  # (stored, *shape) uint8: 0 to 255, or float32
    place: Ints  # (samples,) where each sample is stored
    quality: Floats | None = None  # (stored,) in [0, 1]: the share of what makes a sample good, e.g. sharpness

    def __post_init__(self) -> None:
        if self.stored.dtype not in (np.uint8, np.float32):
            raise DataError(f"samples must be uint8 or float32, but are {self.stored.dtype}; convert them.")
        if self.classes < 2:
            raise DataError(f"samples must have labels of at least two classes, but have {self.classes}.")

    def __len__(self) -> int:
        return len(self.place)

    @property
    def task(self) -> Classification:
        """What a classifier of these samples is asked."""
        return Classification(self.stored.shape[1:], self.classes)

    def restrict(self, samples: Ints) -> SampleTable:
        """The table of exactly these samples, in this order."""
        return SampleTable(self.classes, self.stored, self.place[samples], self.quality)

    def inputs(self, samples: Ints) -> NDArray[Any]:
        """What these samples show: (samples, *shape)."""
        shown: NDArray[Any] = self.stored[self.place[samples]]
        return shown

    def qualities(self, samples: Ints) -> Floats | None:
        """How good these samples are; None: not known."""
        return None if self.quality is None else self.quality[self.place[samples]]

    @cached_property
    def fingerprint(self) -> str:
        """A sha256 over what the samples show, in their order."""
        digest = hashlib.sha256(repr((self.stored.dtype.str, self.stored.shape[1:], self.classes)).encode())
        for first in range(0, len(self), 4096):
            digest.update(np.ascontiguousarray(self.stored[self.place[first : first + 4096]]).tobytes())
        return digest.hexdigest()
