"""Attackers who read no update: what they find is what an attack has to beat."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from murmura.core.rng import Stream
from murmura.lab.audits.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates


class Reference(ItemAttack):
    """Claims about clients or about people, without having read anything."""

    def __init__(self, of: Literal["client", "person"] = "client") -> None:
        self.of: Literal["client", "person"] = of


class PopularityReference(Reference):
    """Says of everyone that she has what is popular."""

    name: ClassVar[str] = "popularity"
    title: ClassVar[str] = "no letter read: the popular items"

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """The same for all; asserted are as many as people have on average."""
        scores = np.tile(known.popularity.astype(np.float64), (known.info.clients, 1))
        return ItemClaims.best(scores, known.info.listed, known.usual(self.of), self.of)


class ChanceReference(Reference):
    """Says anything."""

    name: ClassVar[str] = "random"
    title: ClassVar[str] = "no letter read: a guess"

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """A number for every client and item."""
        shape = (known.info.clients, known.info.items)
        scores = stream.words(shape[0] * shape[1]).astype(np.float64).reshape(shape)
        return ItemClaims.best(scores, known.info.listed, known.usual(self.of), self.of)
