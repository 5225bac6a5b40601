"""Ranked lists: what a recommender answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Ints, Singles

NO_ITEM = -1


@dataclass(frozen=True, eq=False)
class RankedLists:
    """One ranked list per user, best first; a list shorter than the others ends in NO_ITEM.

    Ties are broken by the lower item code, that is, by the lower item id.
    """

    user: Ints  # (users,)
    item: Ints  # (users, k)
    score: Singles  # (users, k) -inf beside NO_ITEM

    @property
    def k(self) -> int:
        """The length of the longest list."""
        return int(self.item.shape[1])

    def top(self, k: int) -> RankedLists:
        """The first k of every list."""
        return RankedLists(
            self.user, np.ascontiguousarray(self.item[:, :k]), np.ascontiguousarray(self.score[:, :k])
        )
