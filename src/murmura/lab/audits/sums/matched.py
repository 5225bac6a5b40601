"""Half of a history known: the rest by a matched filter on the sums of the rounds its owner was in.

A copy with the known half answers the public model of every such round. What it sends for an own item is what
the unknown own items must have added to their rows (Nasr, Shokri and Houmansadr: Comprehensive privacy analysis
of deep learning, S&P 2019, for gradients that are read singly).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.core.rng import Stream
from murmura.lab.audits.attack import ItemClaims
from murmura.lab.audits.sums.observed import ObservedSums
from murmura.lab.audits.sums.participation import own_row
from murmura.lab.audits.sums.sum_attack import SumItemAttack, SumKnowledge, Tells
from murmura.lab.audits.sums.whitened import WhitenedSums


class SumMatched(SumItemAttack):
    """Rows of her rounds, projected on what the known half of her history adds to its own."""

    name: ClassVar[str] = "sum-matched"
    title: ClassVar[str] = "the other half of a history, from rounds its owner was in"
    tells: ClassVar[Tells] = "half"

    def claims(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
        """The mean projection in her rounds minus that in the others; nothing is asserted.

        What the sums say of her taste, whether she is in them or not, is in both.
        """
        space, sums = observed.space, WhitenedSums.of(observed.tables)
        copies, there = known.copies(stream), observed.presence(known.victims).astype(np.float64)
        there -= there.mean(axis=1, keepdims=True)
        scores = known.no_scores()
        for copy, victim in enumerate(known.victims.tolist()):
            moved = np.zeros(space.rows)
            for place in np.flatnonzero(there[copy]).tolist():
                way = own_row(copies, copy, observed.training[place], space)
                moved += there[copy, place] * sums.along(place, way)
            scores[victim] = space.item_scores(moved)
        return ItemClaims(scores, np.zeros(scores.shape, np.bool_), asked=known.asked())
