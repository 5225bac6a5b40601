"""Which items a FedSPLIT group has rated, read off its one letter.

The paper's own audit (section 4.4) gives the adversary the positions of the ratings and asks for their values.
It does not ask for the positions, which a letter shows: only a rated item's factors and bias ever move, so
whatever differs from where it would rest has been rated.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import Claims, ItemAttack, Known, Observed
from murmura.audit.letters import letter_table
from murmura.core.arrays import Floats
from murmura.core.record import Letter
from murmura.core.rng import Stream


def moves(letter: Letter, items: int, factors: int) -> Floats:
    """How far each item is from where an unrated one rests: at zero, or at the bias of a public prior."""
    table = letter_table(letter, items)
    if "prior" not in letter.model:
        largest: Floats = np.abs(table).max(axis=1)
        return largest
    rest: Floats = letter.model["prior"][:, 0].astype(np.float64)
    return np.abs(table[:, factors] - rest)


class FedSplitItems(ItemAttack):
    """A group's items are those whose factors or bias differ from where an unrated item rests."""

    name: ClassVar[str] = "fedsplit-items"
    title: ClassVar[str] = "items of a group: what has moved in H or b_H"
    against: ClassVar[tuple[str, ...]] = ("fedsplit", "fedsplit-svd")

    def claims(self, observed: Observed, known: Known, stream: Stream) -> Claims:
        """The largest move of an item; any move is asserted."""
        scores = np.zeros((known.public.clients, known.public.items))
        for letter in observed.phase("factors"):
            scores[letter.client] = moves(letter, known.public.items, known.settings["factors"])
        return Claims(scores, scores > 0)
