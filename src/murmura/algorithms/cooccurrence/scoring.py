"""One person's scores by weights between items: her newest items count most, and nothing of it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Floats, Ints, Longs, Singles


@dataclass(frozen=True, eq=False)
class WeightBlend:
    """Weights between the items that take part, and how much each kind counts; others follow by count."""

    items: Ints  # (n,) ascending
    counts: Longs  # (all items,)
    parts: tuple[tuple[float, Singles], ...]  # (weight, (n, n) by source and target)
    discount: float = 0.0  # of log(count + 1): how much popularity is held against an item

    def scores(self, own: Ints, weight: Floats, further: Sequence[tuple[float, Singles]] = ()) -> Singles:
        """The scores of all items for someone with these items, each of this weight.

        `further` are scores of the items that take part by other means, and how much each counts.
        """
        known = np.isin(own, self.items)
        if not known.any():
            return self.counts.astype(np.float32)
        z, rows = weight[known].astype(np.float32), np.searchsorted(self.items, own[known])
        found = [*((share, z @ table[rows]) for share, table in self.parts), *further]
        # one kind without a discount ranks as it is: a change of scale could only make ties
        mixed = found[0][1] if len(found) == 1 and not self.discount else _mixed(found)
        if self.discount:
            mixed = mixed - np.float32(self.discount) * np.log(self.counts[self.items] + 1).astype(np.float32)
        return self._with_others(mixed)

    def _with_others(self, scores: Singles) -> Singles:
        """Items that take no part come after all others, the more frequent first."""
        every: Singles = (scores.min() - 1 / (1 + self.counts)).astype(np.float32)
        every[self.items] = scores
        return every


def _mixed(found: list[tuple[float, Singles]]) -> Singles:
    total: Singles = np.zeros(len(found[0][1]), np.float32)
    for share, scores in found:
        spread = scores.std()
        total += np.float32(share) * ((scores - scores.mean()) / (spread if spread > 0 else np.float32(1)))
    return total


def recency(time: Longs, power: float) -> Floats:
    """(1 + gap)^-power of every row; gap: how many rows are newer, rows of one time the average of theirs."""
    _, place, size = np.unique(-time, return_inverse=True, return_counts=True)
    newer = np.cumsum(size) - size
    gap: Floats = (newer + (size - 1) / 2)[place]
    return (1 + gap) ** -power
