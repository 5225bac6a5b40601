"""Which items a FedSPLIT group, or one member of it, has rated, read off its one update.

The paper's own audit (section 4.4) gives the adversary the positions of the ratings and asks for their values.
It does not ask for the positions, which an update shows: only a rated item's factors and bias ever move, so
whatever differs from where it would rest has been rated. What several members rated is more likely that of one
of them: an update of singular vectors, or one with counts, says how many members rated an item; in any other
one the items that several rated have larger factors.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.rng import Stream
from murmura.core.update import SentUpdate
from murmura.lab.audits.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates
from murmura.lab.audits.fedsplit.group_updates import update_table


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


class FedSplitMembers(ItemAttack):
    """What one member has rated: of the items that have moved, those with most ratings or largest sums of H."""

    name: ClassVar[str] = "fedsplit-members"
    title: ClassVar[str] = "items of one member: counts, or column sums of H"
    against: ClassVar[tuple[str, ...]] = ("fedsplit", "fedsplit-svd")

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """The same for every member; asserted are as many items as people have on average."""
        scores = np.zeros((known.info.clients, known.info.items))
        for sent_update in observed.phase("factors"):
            items, k = known.info.items, known.settings["factors"]
            table = update_table(sent_update, items)
            counts = table.shape[1] > k + 1  # in the last column, behind H and b_H
            sums = table[:, -1] if counts else table[:, :k].sum(axis=1)
            scores[sent_update.client] = np.where(moves(sent_update, items, k) > 0, sums, 0.0)
        return ItemClaims.best(scores, known.info.listed, known.usual("person"), "person")
