"""Two stages that bound what one device can add to a sum: the length of its vector, then every number of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from murmura.channel.layout import SparseVector
from murmura.core.arrays import Floats
from murmura.core.rng import Rng


@dataclass(frozen=True)
class L2Clip:
    """L2: a longer vector is shortened to C, its direction kept."""

    bound: float

    def device(self, sent: SparseVector, rng: Rng) -> SparseVector:
        """The squares are added one after the other, so that every language finds the same bits."""
        with np.errstate(over="ignore"):  # a vector too long to be measured becomes zero
            squares = np.cumsum(sent.value * sent.value)
        norm = float(np.sqrt(squares[-1])) if len(squares) else 0.0
        return sent if norm <= self.bound else replace(sent, value=sent.value * (self.bound / norm))

    def server(self, total: Floats) -> Floats:
        """Nothing to undo."""
        return total


@dataclass(frozen=True, eq=False)
class CoordinateClip:
    """Every number: at most its bound, in either direction."""

    bounds: Floats  # (words,)

    def device(self, sent: SparseVector, rng: Rng) -> SparseVector:
        """What is larger becomes the bound."""
        bound = self.bounds[sent.place]
        return replace(sent, value=np.clip(sent.value, -bound, bound))

    def server(self, total: Floats) -> Floats:
        """Nothing to undo."""
        return total
