"""A stage that makes whole numbers: fixed point with stochastic rounding, right on average.

The draws come from the device's own stream, one word per place of the vector, so that a simulation and a real
device round alike. They hide nothing and need not: what hides is the share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from murmura.channel.layout import SparseVector
from murmura.core.arrays import Floats
from murmura.core.rng import Purpose, Rng


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Multiples of a step."""

    steps: Floats  # (words,)

    def device(self, sent: SparseVector, rng: Rng) -> SparseVector:
        """floor(x / step + u), u uniform in [0, 1) in steps of 2**-32."""
        u = rng.stream(Purpose.ROUNDING).words_at(sent.place) * 2.0**-32
        return replace(sent, value=np.floor(sent.value / self.steps[sent.place] + u))

    def server(self, total: Floats) -> Floats:
        """From multiples back to values."""
        return total * self.steps
