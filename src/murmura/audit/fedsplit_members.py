"""What one member of a group has rated: what several members rated is more likely hers.

A letter of singular vectors, or one with counts, says how many members rated an item; in any other one the
items that several rated have larger factors.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import Claims, ItemAttack, Known, Observed
from murmura.audit.fedsplit_items import moves
from murmura.audit.letters import letter_table
from murmura.core.rng import Stream


class FedSplitMembers(ItemAttack):
    """What one member has rated: of the items that have moved, those with most ratings or largest sums of H."""

    name: ClassVar[str] = "fedsplit-members"
    title: ClassVar[str] = "items of one member: counts, or column sums of H"
    against: ClassVar[tuple[str, ...]] = ("fedsplit", "fedsplit-svd")

    def claims(self, observed: Observed, known: Known, stream: Stream) -> Claims:
        """The same for every member; asserted are as many items as people have on average."""
        scores = np.zeros((known.public.clients, known.public.items))
        for letter in observed.phase("factors"):
            items, k = known.public.items, known.settings["factors"]
            table = letter_table(letter, items)
            counts = table.shape[1] > k + 1  # in the last column, behind H and b_H
            sums = table[:, -1] if counts else table[:, :k].sum(axis=1)
            scores[letter.client] = np.where(moves(letter, items, k) > 0, sums, 0.0)
        return Claims.best(scores, known.public.listed, known.usual("person"), "person")
