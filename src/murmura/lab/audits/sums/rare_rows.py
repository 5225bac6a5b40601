"""The row of an item with one owner is that owner's list: exact pairs tell on those who have rare items.

As in released tables of small cells (Sweeney: k-anonymity, IJUFKS 2002). Who knows one rare item of hers reads
with whom it occurs; of an item with c owners, what occurs with it c times is everyone's of them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.errors import DataError
from murmura.core.rng import Stream
from murmura.kernels.packing import PackedPairs
from murmura.lab.audits.attack import ItemClaims
from murmura.lab.audits.sums.observed import ObservedSums
from murmura.lab.audits.sums.sum_attack import SumItemAttack, SumKnowledge, Tells


class CoRareRows(SumItemAttack):
    """Her rarest item that takes part is known: the others by how often they occur with it."""

    name: ClassVar[str] = "co-rare-rows"
    title: ClassVar[str] = "her rarest item known: what occurs with it in exact pairs"
    against: ClassVar[tuple[str, ...]] = ("cooccurrence",)
    tells: ClassVar[Tells] = "rarest"

    def claims(self, observed: ObservedSums, known: SumKnowledge, stream: Stream) -> ItemClaims:
        """The share of the rare item's owners that have another one too; asserted where it is all of them."""
        items, counts, G = released_pairs(observed, int(known.public.settings["least"]))
        place = {item: n for n, item in enumerate(items.tolist())}
        scores = known.no_scores()
        for victim in known.victims.tolist():
            (rare,) = known.told[victim].tolist()
            scores[victim, items] = G[place[rare]] / counts[place[rare]]
        return ItemClaims(scores, scores >= 1, asked=known.asked())


def released_pairs(observed: ObservedSums, least: int) -> tuple[Ints, Floats, Floats]:
    """The items that take part, how often each occurs, and how often each pair does: (n,), (n,), (n, n)."""
    sums = [one for one in observed.sums if one.phase.name.startswith("pairs") and one.phase.sends.tables]
    if not sums or sums[0].info.counts is None:
        raise DataError("rare rows are read from exact sums of pairs, but this training has released none.")
    pairs = PackedPairs.of(sums[0].info.counts, least)
    words = np.concatenate([one.total.update.tables["pairs"].values[:, 0] for one in sums]).astype(np.uint32)
    return pairs.items, pairs.counts.astype(np.float64), pairs.unpack(words)
