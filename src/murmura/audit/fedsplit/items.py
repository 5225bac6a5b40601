"""Which items a FedSPLIT group has rated, read off its one update.

The paper's own audit (section 4.4) gives the adversary the positions of the ratings and asks for their values.
It does not ask for the positions, which an update shows: only a rated item's factors and bias ever move, so
whatever differs from where it would rest has been rated.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates
from murmura.audit.fedsplit.group_updates import update_table
from murmura.core.arrays import Floats
from murmura.core.observer import SentUpdate
from murmura.core.rng import Stream


def moves(sent_update: SentUpdate, items: int, factors: int) -> Floats:
    """How far each item is from where an unrated one rests: at zero, or at the bias of a public prior."""
    table = update_table(sent_update, items)
    if "prior" not in sent_update.model:
        largest: Floats = np.abs(table).max(axis=1)
        return largest
    rest: Floats = sent_update.model["prior"][:, 0].astype(np.float64)
    return np.abs(table[:, factors] - rest)


class FedSplitItems(ItemAttack):
    """A group's items are those whose factors or bias differ from where an unrated item rests."""

    name: ClassVar[str] = "fedsplit-items"
    title: ClassVar[str] = "items of a group: what has moved in H or b_H"
    against: ClassVar[tuple[str, ...]] = ("fedsplit", "fedsplit-svd")

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """The largest move of an item; any move is asserted."""
        scores = np.zeros((known.info.clients, known.info.items))
        for sent_update in observed.phase("factors"):
            scores[sent_update.client] = moves(sent_update, known.info.items, known.settings["factors"])
        return ItemClaims(scores, scores > 0)
