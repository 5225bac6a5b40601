"""The sum of some of a round's clients, before any server half: what a part of a federation hands on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from murmura.channel.chain import Chain
from murmura.core.arrays import Ints, Longs
from murmura.core.contract import Total
from murmura.core.kernel import CompiledChannel, VectorSlice
from murmura.core.update import Update


@dataclass(frozen=True, eq=False)
class OtherSum(CompiledChannel):
    """The channel of one exchange, whose sums go another way than straight to its server half."""

    chain: Chain

    @property
    def words(self) -> int:
        """The length of a vector."""
        return self.chain.words

    def block(self, round: int) -> Ints:
        """The items whose rows travel."""
        return self.chain.block(round)

    def vector_slice(self, table: str, round: int) -> VectorSlice:
        """Where and how a table travels."""
        return self.chain.vector_slice(table, round)


@dataclass(frozen=True, eq=False)
class PartialSum(OtherSum):
    """Keeps the whole numbers of a sum for whoever adds up the others; any cut of a round adds to the same."""

    sums: list[Longs] = field(default_factory=list)  # as they came, not yet modulo anything

    def sum_up(self, sums: Longs, round: int) -> Total:
        """Keep it; there is nothing to tell a server yet but how many devices it is of."""
        self.sums.append(sums)
        return Total(Update({}, {}), int(sums[0]))

    @property
    def total(self) -> Longs:
        """The sum that was kept."""
        return np.sum(self.sums, axis=0, dtype=np.int64)
