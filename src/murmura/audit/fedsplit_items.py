"""Which items a FedSPLIT group has rated, read off its one letter.

The paper's own audit (section 4.4) gives the adversary the positions of the ratings and asks for their values.
It does not ask for the positions, which a letter shows: only a rated item's factors and bias ever move, so
whatever differs from where it would rest has been rated.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import Claims, ItemAttack, Known, Observed
from murmura.core.arrays import Floats
from murmura.core.record import Letter
from murmura.core.rng import Stream


def letter_table(letter: Letter, items: int) -> Floats:
    """What a letter says of every item: (items, factors + 1), the bias last; zero where it says nothing."""
    rows = letter.update.tables["items"]
    table = np.zeros((items, rows.values.shape[1]))
    table[rows.index] = rows.values
    return table


def resting(letter: Letter, items: int, width: int) -> Floats:
    """Where an unrated item rests: at the public prior if there is one, otherwise at zero."""
    prior = letter.model.get("prior")
    return np.zeros((items, width)) if prior is None else np.asarray(prior, np.float64)[:, :width]


class FedSplitItems(ItemAttack):
    """A group's items are those whose factors or bias differ from where an unrated item rests."""

    name: ClassVar[str] = "fedsplit-items"
    title: ClassVar[str] = "items of a group: what has moved in H or b_H"
    against: ClassVar[tuple[str, ...]] = ("fedsplit",)

    def claims(self, observed: Observed, known: Known, stream: Stream) -> Claims:
        """The largest move of an item; any move is asserted."""
        scores = np.zeros((known.public.clients, known.public.items))
        for letter in observed.phase("factors"):
            table = letter_table(letter, known.public.items)
            scores[letter.client] = np.abs(table - resting(letter, *table.shape)).max(axis=1)
        return Claims(scores, scores > 0)


class FedSplitMembers(ItemAttack):
    """What one member of a group has rated, by the column sums of H: what several members rated weighs more."""

    name: ClassVar[str] = "fedsplit-members"
    title: ClassVar[str] = "items of one member: column sums of H"
    against: ClassVar[tuple[str, ...]] = ("fedsplit",)

    def claims(self, observed: Observed, known: Known, stream: Stream) -> Claims:
        """The same for every member; asserted are as many items as people have on average."""
        scores = np.zeros((known.public.clients, known.public.items))
        for letter in observed.phase("factors"):
            H = letter_table(letter, known.public.items)[:, : known.settings["factors"]]
            scores[letter.client] = H.sum(axis=1)
        return Claims.best(scores, known.public.listed, known.usual("person"), "person")
