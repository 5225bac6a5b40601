"""The bounds of exact whole numbers: how large a row may be, from one device or in the sum of a cohort.

Counts and packed counters cross the channel untouched, so nothing cuts what is too large: it is refused, before
it leaves a device and again in the sum; a sum that cannot be asked for again is cut instead. A bound is public
and part of the declaration; a mark of 10**5 of them holds their SHA-256.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints, Longs
from murmura.core.errors import SettingError

LARGEST = 2**32 - 1  # what a word holds


@dataclass(frozen=True, eq=False, repr=False)
class RowBounds:
    """The largest whole number in each row of a table: one for all rows, or one for each.

    of="device": no device sends more, so a sum of n devices has at most n times as much.
    of="sum": the sum itself has no more, however many devices it is of. For packed counters, whose counters'
    sums are known to be small from an earlier sum; only the devices counted there may send then.
    """

    most: int | NDArray[Any]
    of: Literal["device", "sum"] = "device"

    def __post_init__(self) -> None:
        given = np.asarray(self.most)
        whole = given.dtype.kind in "iu" and given.ndim <= 1 and given.size > 0
        if not whole or int(given.min()) < 0 or int(given.max()) > LARGEST:
            raise SettingError(
                "the bounds of exact rows must be one whole number, or one for each row, from 0 to 2**32 - 1, "
                f"but are {given.dtype} of shape {given.shape}."
            )
        kept = int(given) if given.ndim == 0 else given.astype(np.uint32)
        if isinstance(kept, np.ndarray):
            kept.flags.writeable = False
        object.__setattr__(self, "most", kept)

    @property
    def rows(self) -> int | None:
        """How many rows have a bound of their own; None: one bound for any number of rows."""
        return None if isinstance(self.most, int) else len(self.most)

    @cached_property
    def largest(self) -> int:
        """The largest of all bounds."""
        return int(np.max(self.most))

    def at(self, index: Ints) -> Longs:
        """The bounds of these rows."""
        if isinstance(self.most, int):
            return np.full(len(index), self.most, np.int64)
        return self.most[index].astype(np.int64)

    def in_sum(self, index: Ints, count: int) -> Longs:
        """The largest these rows can be in the sum of so many devices."""
        bounds = self.at(index)
        return bounds * count if self.of == "device" else bounds

    def nearest(self, values: Longs, index: Ints, count: int, ring: int) -> Longs:
        """(rows, width) a sum of so many devices, each number cut to the nearest one that is possible.

        Numbers have `ring` bits: what is nearer to 0 from below has become negative. Packed counters, which a
        bound of the sum is for, stay as they are.
        """
        if self.of == "sum":
            return values
        most = self.in_sum(index, count)[:, None]
        near = np.where(2.0**ring - values < values - most, 0, most)
        return np.where(values > most, near, values)

    def largest_sum(self, cohort: int) -> int:
        """The largest number a sum of so many devices can have."""
        return self.largest * cohort if self.of == "device" else self.largest

    @cached_property
    def _name(self) -> str:
        if isinstance(self.most, int):
            return str(self.most)
        return f"sha256:{hashlib.sha256(self.most.astype('<u4').tobytes()).hexdigest()}"

    def __repr__(self) -> str:  # goes into `MessageSpec.mark`: part of the wire format
        return f"Rows(most={self._name}, of={self.of!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowBounds) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))
