"""A priority order that adapts itself: Ferrara's thesis, section 5.7, on a signal that is itself a sum.

Every order of the criteria is tried for one round, there and back again, so that whatever training gains or
loses with time counts alike for all; then the order with the best mean gain is kept for a while, and all are
tried again. A gain is the part of what the model still got wrong that a round has put right. Nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from murmura.core.arrays import Floats

MOST = 4  # criteria: 24 orders
EXPLOIT_FACTOR = 3  # times as many rounds as were tries


def orders(criteria: int) -> list[tuple[int, ...]]:
    """Every order of so many criteria, the configured one first."""
    return list(permutations(range(criteria)))


@dataclass(frozen=True, eq=False)
class OrderTrials:
    """What the server knows of the orders it has tried."""

    gains: Floats  # (orders,) added up
    tries: Floats  # (orders,)
    quality: float = -1.0  # of the model before the round at work; -1: not known
    rounds: int = 0  # decided so far
    order: int = 0  # of the round at work

    @staticmethod
    def first(criteria: int) -> OrderTrials:
        """Before the first round."""
        many = len(orders(criteria))
        return OrderTrials(np.zeros(many), np.zeros(many))

    def decided(self, quality: float) -> OrderTrials:
        """The order of the next round, of whose clients so much of their data is got right beforehand."""
        gains, tries = self.gains.copy(), self.tries.copy()
        if self.quality >= 0 and quality >= 0 and self.rounds:
            gains[self.order] += (quality - self.quality) / max(1.0 - self.quality, 1e-9)
            tries[self.order] += 1
        made = OrderTrials(gains, tries, quality if quality >= 0 else self.quality, self.rounds + 1)
        return replace(made, order=made._next(self.rounds))

    def _next(self, round: int) -> int:
        many = len(self.gains)
        place = round % ((1 + EXPLOIT_FACTOR) * 2 * many)
        if place < 2 * many:
            return min(place, 2 * many - 1 - place)
        means = np.where(self.tries > 0, self.gains / np.maximum(self.tries, 1), -np.inf)
        return int(np.argmax(means))

    def array(self) -> Floats:
        """As a server keeps it."""
        return np.concatenate([[self.quality, self.rounds, self.order], self.gains, self.tries])

    @staticmethod
    def read(kept: Floats) -> OrderTrials:
        """The opposite."""
        quality, rounds, order = kept[:3].tolist()
        gains, tries = np.split(kept[3:], 2)
        return OrderTrials(gains, tries, quality, int(rounds), int(order))
