"""Stages on the numbers of a vector: two bound what one device can add to a sum, one makes whole numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from murmura.channel.layout import SparseVector
from murmura.core.arrays import Floats
from murmura.core.rng import Purpose, Rng


class Stage(ABC):
    """What happens to the numbers of one device, and what the server undoes in the sum."""

    @abstractmethod
    def device(self, sent: SparseVector, rng: Rng) -> SparseVector:
        """The device half."""

    def server(self, total: Floats) -> Floats:
        """The server half: (words,) to (words,); by default there is nothing to undo."""
        return total


@dataclass(frozen=True)
class L2Clip(Stage):
    """L2: a longer vector is shortened to C, its direction kept."""

    bound: float

    def device(self, sent: SparseVector, rng: Rng) -> SparseVector:
        """A vector too long to be measured becomes zero."""
        norm = _length(sent.value)
        return sent if norm <= self.bound else replace(sent, value=sent.value * (self.bound / norm))


@dataclass(frozen=True, eq=False)
class CoordinateClip(Stage):
    """Every number: at most its bound, in either direction."""

    bounds: Floats  # (words,)

    def device(self, sent: SparseVector, rng: Rng) -> SparseVector:
        """What is larger becomes the bound."""
        bound = self.bounds[sent.place]
        return replace(sent, value=np.clip(sent.value, -bound, bound))


@dataclass(frozen=True, eq=False)
class FixedPoint(Stage):
    """Multiples of a step, with stochastic rounding: right on average.

    The draws come from the device's own stream, one word per place of the vector, so that a simulation and a
    real device round alike. They hide nothing and need not: what hides is the share.

    Rounding can lengthen a vector. Where noise is measured by the longest one, a vector that has become longer
    is rounded towards zero instead, which lengthens none.
    """

    steps: Floats  # (words,)
    longest: float = np.inf

    def device(self, sent: SparseVector, rng: Rng) -> SparseVector:
        """floor(x / step + u), u uniform in [0, 1) in steps of 2**-32."""
        u = rng.stream(Purpose.ROUNDING).words_at(sent.place) * 2.0**-32
        steps = self.steps[sent.place]
        rounded = np.floor(sent.value / steps + u)
        if _length(rounded * steps) > self.longest:
            rounded = np.trunc(sent.value / steps)
        return replace(sent, value=rounded)

    def server(self, total: Floats) -> Floats:
        """From multiples back to values."""
        return total * self.steps


def _length(values: Floats) -> float:
    """L2; the squares are added one after the other, so that every language finds the same bits."""
    with np.errstate(over="ignore"):
        squares = np.cumsum(values * values)
    return float(np.sqrt(squares[-1])) if len(squares) else 0.0
