"""Items a user has not met in training, uniformly, without rejection."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from murmura.neural.histories import Histories


class UnseenItems(NamedTuple):
    """Where the items a user has not met lie between those she has.

    Before her j-th item s_j (from 0) lie s_j - j items she has not met. So her r-th unmet item (from 0) is
    r + the number of her items with s_j - j <= r: one binary search per draw, whatever she has met.
    """

    start: Tensor  # (users + 1,)
    before: Tensor  # (entries,) user * (columns + 1) + s_j - j, ascending
    n_items: int

    @staticmethod
    def of(histories: Histories) -> UnseenItems:
        """From what everyone has met."""
        start, column = torch.from_numpy(histories.start.copy()), torch.from_numpy(histories.column.copy())
        user = torch.repeat_interleave(start.diff())
        place = torch.arange(len(column)) - start[user]
        n_items = len(histories.item)
        return UnseenItems(start, user * (n_items + 1) + column - place, n_items)

    def has_room(self, user: Tensor) -> Tensor:
        """Whether there is anything each user has not met."""
        return self._room(user) > 0

    def draw(self, user: Tensor, generator: torch.Generator) -> Tensor:
        """One unmet item per entry of `user`; any item for a user who has met everything."""
        drawn = torch.rand(len(user), generator=generator, dtype=torch.float64)
        return self.at(user, (drawn * self._room(user)).long()).clamp(max=self.n_items - 1)

    def at(self, user: Tensor, r: Tensor) -> Tensor:
        """The r-th unmet item of each user."""
        passed = torch.searchsorted(self.before, user * (self.n_items + 1) + r, right=True)
        return r + passed - self.start[user]

    def _room(self, user: Tensor) -> Tensor:
        return self.n_items - (self.start[user + 1] - self.start[user])
