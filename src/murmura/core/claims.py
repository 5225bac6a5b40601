"""What a device proves of its part of a sum before it is added; `channel.circuits` makes the circuits.

Every person of a device is a vector of bits over `items`: what she shares of them. A device sends as many
vectors as the largest device has people. Of a noisy sum each person's bits are multiplied by one whole number,
her weight: the channel bounds the length of what a device sends by it, as noise is measured by that length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from murmura.core.arrays import Ints, Longs

# how rows of few items travel: all rows, keys of point functions, or whatever is shorter
Encoding = Literal["shorter", "dense", "keys"]


@dataclass(frozen=True, eq=False)
class CountsClaim:
    """How many people of a device share each item: of one person at most `cap` items, each once."""

    items: Ints  # (n,) ascending
    people: int
    cap: int


@dataclass(frozen=True, eq=False)
class PairsClaim:
    """How often two items occur together in what was counted, in the words of `kernels.proofs.pair_words`."""

    counted: CountsClaim  # of the exchange before
    ranked: Longs  # (ranks,) the place of each rank among the items
    bounds: Longs  # (ranks,) ascending: no pair of a rank and a later one occurs more often
    rows: tuple[int, int] | None  # the words of these ranks are sent, first and last + 1; None: all

    @property
    def people(self) -> int:
        """As many as were counted."""
        return self.counted.people

    @property
    def items(self) -> Ints:
        """(n,) those that were counted."""
        return self.counted.items


@dataclass(frozen=True, eq=False)
class WeightedCountsClaim:
    """Which items each person shares, times her weight: of length 1 in all."""

    items: Ints  # (n,) ascending
    people: int


@dataclass(frozen=True, eq=False)
class WeightedPairsClaim:
    """Which pairs of items each person shares, an item with itself included, times her weight: of length 1."""

    items: Ints  # (n,) ascending
    people: int
    few: int  # items of somebody with few: with fewer her weight is no larger


@dataclass(frozen=True, eq=False)
class RowsClaim:
    """Rows of at most `cap` items of a device, each item once: a 1, then `width` numbers.

    The numbers stand where the 1 does alone. With `digits` all rows of a device have the same numbers,
    each a sum of weight · digit with digits from 0 to a largest one. Without, a number may be anything.
    """

    items: Ints  # (n,) ascending
    cap: int
    width: int
    digits: tuple[tuple[int, int], ...] = ()  # (weight, largest) of each digit of every number
    shown: Longs | None = None  # the places of the items whose rows are released; None: all
    encoding: Encoding = "shorter"

    people = 1  # a device of several sends the rows of all together


ExactClaim = CountsClaim | PairsClaim | RowsClaim
WeightedClaim = WeightedCountsClaim | WeightedPairsClaim
Claim = ExactClaim | WeightedClaim
