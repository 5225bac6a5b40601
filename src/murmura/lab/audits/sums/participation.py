"""Who was in a round, against what the sum of the round holds.

Homer et al.: Resolving individuals contributing trace amounts of DNA to highly complex mixtures (PLoS Genetics,
2008), turned round: with the cohorts of many rounds known, an item whose row moves in the rounds somebody is in
is rather hers. What an own item's row looks like the adversary learns from made-up people.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.population import ObservedSum
from murmura.core.rng import Stream
from murmura.lab.audits.attack import ItemClaims
from murmura.lab.audits.sums.copies import Copies
from murmura.lab.audits.sums.observed import ObservedSums
from murmura.lab.audits.sums.row_space import RowSpace
from murmura.lab.audits.sums.sum_attack import SumItemAttack, SumKnowledge
from murmura.lab.audits.sums.whitened import WhitenedSums


def own_row(copies: Copies, copy: int, asked: ObservedSum, space: RowSpace) -> Floats:
    """The mean of the rows of its own items that a copy sends in a round: (width,)."""
    sent = copies.visit(copy, asked).tables[space.table]
    own = np.isin(sent.index, space.of_items(copies.people.history(copy, 0).item))
    if not own.any():
        return np.zeros(space.width)
    mean: Floats = sent.values[own].mean(axis=0, dtype=np.float64)
    return mean


class SumParticipation(SumItemAttack):
    """An item's row, projected on what an own item adds, correlated with somebody's presence over rounds."""

    name: ClassVar[str] = "sum-participation"
    title: ClassVar[str] = "items whose rows move in the rounds somebody is in"

    def claims(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
        """The correlation of presence and projected row; nothing is certain, so nothing is asserted."""
        space, sums = observed.space, WhitenedSums.of(observed.tables)
        strangers = known.strangers(stream)
        moved = np.empty((len(observed.training), space.rows))
        for place, asked in enumerate(observed.training):
            rows = [own_row(strangers, one, asked, space) for one in range(strangers.people.clients)]
            moved[place] = sums.along(place, np.mean(rows, axis=0))
        moved -= moved.mean(axis=0)
        moved /= np.sqrt((moved**2).mean(axis=0)) + np.finfo(np.float64).tiny
        there = observed.presence(known.victims).astype(np.float64)
        there -= there.mean(axis=1, keepdims=True)
        scores = known.no_scores()
        scores[known.victims] = space.item_scores(there @ moved)
        asked_items = known.asked()
        return ItemClaims(scores, np.zeros(scores.shape, np.bool_), asked=asked_items)
