"""The sticky draw of every client at once: the compiled twin of `channel.consent.extend_record`."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Bools, Floats, Longs
from murmura.core.rng import Purpose
from murmura.kernels.compiled import compiled
from murmura.kernels.random.philox import Words, draw_below

_CONSENT = np.uint64(Purpose.CONSENT)
_ZERO = np.uint64(0)


@compiled
def fill_sticky(start: Longs, limit: Longs, excluded: Bools, secrets: Words, consent: Floats) -> None:
    """Share 1 for the rows a client draws, at most limit[u] of those it does not exclude; 0 for the others."""
    for u in range(len(start) - 1):
        first, last = start[u], start[u + 1]
        undecided = np.empty(last - first, np.int64)
        left = 0
        for row in range(first, last):
            consent[row] = 0.0
            if not excluded[row]:
                undecided[left] = row
                left += 1
        place = _ZERO
        for _ in range(min(limit[u], left)):
            k, place = draw_below(secrets[u], _ZERO, _CONSENT, _ZERO, place, np.uint64(left))
            consent[undecided[k]] = 1.0
            left -= 1
            undecided[k] = undecided[left]
