"""What a row of a sum holds: whole numbers, several to a number of the field, which no carry can mix.

A number of the field has capacity for k digits to the base B where B^k is at most p; adding adds every digit as
long as no digit's sum reaches B.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.kernels.proofs.field import Elements
from murmura.kernels.proofs.pair_words import counters_in_a_word

Weight = Literal["one", "root", "inverse"]
LARGEST_WEIGHT = 8
LEVELS = 63  # of a number of a sketch at least, or it gets more capacity
MOST_LEVELS = 2**20


@dataclass(frozen=True)
class PersonWeights:
    """How much the pairs of a person count: a whole number from 1 to `largest`, by how many items she has.

    A pair's counter adds up M w + 1 with M = (least - 1) largest + 1. Where the sum of w is below M, so are the
    people, and the rest by M says how many they are; where it is not, they are at least `least`.
    """

    kind: Weight
    least: int  # people of whom a pair is published

    @property
    def largest(self) -> int:
        """The largest w."""
        return 1 if self.kind == "one" else LARGEST_WEIGHT

    @property
    def base(self) -> int:
        """M; 0 where people are all that is counted."""
        return 0 if self.kind == "one" else (self.least - 1) * self.largest + 1

    @property
    def most(self) -> int:
        """The most that one person adds to a counter."""
        return self.of(1)

    def of(self, items: int) -> int:
        """What someone with so many items adds to each of her pairs."""
        if self.kind == "one":
            return 1
        wanted = 16 / max(items, 1) ** 0.5 if self.kind == "root" else 64 / max(items, 1)
        return self.base * int(min(max(np.rint(wanted), 1), self.largest)) + 1

    def enough(self, sums: Longs) -> Bools:
        """Which sums must be of at least `least` people."""
        if not self.base:
            return sums >= self.least
        return (sums // self.base >= self.base) | (sums % self.base >= self.least)

    def users(self, sums: Longs) -> Longs:
        """How many people sums are of, where that can be told; else -1."""
        if not self.base:
            return sums
        return np.where(sums // self.base < self.base, sums % self.base, -1)


@dataclass(frozen=True)
class SketchNumbers:
    """A row of a sketch: `rank` numbers of [-1, 1] and a 1, rounded to so many levels that sums fit."""

    rank: int
    most: int  # rows that are added at most

    @cached_property
    def digits(self) -> int:
        """Digits in a number of the field: four or three where that leaves enough levels."""
        return next((k for k in (4, 3) if self._levels(k) >= LEVELS), 2)

    def _levels(self, digits: int) -> int:
        base = int((2.0**64 - 2.0**33) ** (1 / digits))
        return int(min((base - 2) // max(self.most, 1), MOST_LEVELS))

    @property
    def levels(self) -> int:
        """A rounded number is 0 to this."""
        return max(1, self._levels(self.digits))

    @property
    def base(self) -> int:
        """B."""
        return self.levels * self.most + 1

    @property
    def width(self) -> int:
        """Numbers of the field in a row."""
        return -(-(self.rank + 1) // self.digits)

    def rounded(self, values: Floats, u: Floats) -> Longs:
        """Levels, right on average for u uniform in [0, 1)."""
        taken = (np.clip(values, -1, 1) + 1) / 2 * self.levels
        return np.minimum(np.floor(taken + u), self.levels).astype(np.int64)

    def pack(self, levels: Longs) -> Elements:
        """(width,) a row: the levels, and a 1 that counts it."""
        digits = np.zeros(self.width * self.digits, np.uint64)
        digits[: self.rank], digits[self.rank] = levels, 1
        powers = np.uint64(self.base) ** np.arange(self.digits, dtype=np.uint64)
        row: Elements = (digits.reshape(self.width, self.digits) * powers).sum(axis=1, dtype=np.uint64)
        return row

    def sums(self, rows: Elements) -> Floats:
        """(rows, rank) the sums of the numbers that were rounded."""
        digits, rest = [], rows.astype(np.uint64)
        for _ in range(self.digits):
            digits.append(rest % np.uint64(self.base))
            rest = rest // np.uint64(self.base)
        flat = np.stack(digits, axis=2).reshape(len(rows), self.width * self.digits).astype(np.float64)
        found: Floats = flat[:, : self.rank] * (2 / self.levels) - flat[:, [self.rank]]
        return found


@dataclass(frozen=True, eq=False)
class CandidateCounters:
    """How many candidates each row has capacity for, and where their counters stand."""

    bases: Elements  # (items,) B of each row
    digits: Longs  # (items,) counters in a number of the field
    capacity: Longs  # (items,) candidates

    @staticmethod
    def of(
        counts: Longs, part: Bools, weights: PersonWeights, width: int, candidates: int
    ) -> CandidateCounters:
        """Of rows of `width` numbers: no pair of an item is counted more often than the item."""
        bases = np.maximum(counts, 1) * weights.most + 1
        each = {base: counters_in_a_word(base) for base in np.unique(bases).tolist()}
        digits = np.array([each[base] for base in bases.tolist()], np.int64)
        capacity = np.where(part, np.minimum(width * digits, candidates), 0)
        return CandidateCounters(bases.astype(np.uint64), digits, capacity)

    def unpack(self, rows: Ints, words: Elements) -> Longs:
        """(rows, candidates) the counters of some rows."""
        bases, digits = self.bases[rows], self.digits[rows]
        n, width = words.shape
        found = np.zeros((n, int(self.capacity.max(initial=0))), np.int64)
        rest = words.copy()
        for digit in range(int(digits.max(initial=0))):
            place = np.arange(width) * digits[:, None] + digit
            value = (rest % bases[:, None]).astype(np.int64)
            rest //= bases[:, None]
            there = (digit < digits[:, None]) & (place < self.capacity[rows][:, None])
            row, column = np.nonzero(there)
            found[row, place[row, column]] = value[row, column]
        return found
