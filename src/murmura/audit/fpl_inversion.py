"""p_u read off one upload, then used as its owner would: rank all items by b_i + p_u . q_i."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import Claims, ItemAttack, Known, Observed
from murmura.audit.fpl_rows import PHASE, negatives
from murmura.core.rng import Stream


class FplInversion(ItemAttack):
    """The recommender turned round: somebody's own ranking of all items, from her last upload."""

    name: ClassVar[str] = "fpl-inversion"
    title: ClassVar[str] = "p_u from a negative's row, then her own ranking"
    against: ClassVar[tuple[str, ...]] = ("fpl",)

    def claims(self, observed: Observed, known: Known, stream: Stream) -> Claims:
        """Asserted are the best, as many as people have on average."""
        scores = np.zeros((known.public.clients, known.public.items))
        for letter in observed.phase(PHASE):
            rows = negatives(letter, known)
            if len(rows.item):
                p = rows.p[np.argmax(rows.g)]  # the row that rounding disturbs least
                scores[letter.client] = letter.model["b"] + letter.model["Q"] @ p
        return Claims.best(scores, known.public.listed, known.usual("client"), "client")
