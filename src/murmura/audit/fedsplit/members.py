"""What one member of a group has rated: what several members rated is more likely hers.

An update of singular vectors, or one with counts, says how many members rated an item; in any other one the
items that several rated have larger factors.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates
from murmura.audit.fedsplit.group_updates import update_table
from murmura.audit.fedsplit.items import moves
from murmura.core.rng import Stream


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
