"""What one member of a FedSPLIT group has rated: items several members rated have larger factors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import Claims, ItemAttack, Known, Observed
from murmura.audit.fedsplit_items import letter_table, moves
from murmura.core.rng import Stream


class FedSplitMembers(ItemAttack):
    """What one member has rated: of the items that have moved, those with the largest column sums of H."""

    name: ClassVar[str] = "fedsplit-members"
    title: ClassVar[str] = "items of one member: column sums of H"
    against: ClassVar[tuple[str, ...]] = ("fedsplit",)

    def claims(self, observed: Observed, known: Known, stream: Stream) -> Claims:
        """The same for every member; asserted are as many items as people have on average."""
        scores = np.zeros((known.public.clients, known.public.items))
        for letter in observed.phase("factors"):
            items, k = known.public.items, known.settings["factors"]
            sums = letter_table(letter, items)[:, :k].sum(axis=1)
            scores[letter.client] = np.where(moves(letter, items, k) > 0, sums, 0.0)
        return Claims.best(scores, known.public.listed, known.usual("person"), "person")
