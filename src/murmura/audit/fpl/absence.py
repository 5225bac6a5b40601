"""Negatives are drawn among the items somebody does not have: what never comes is perhaps hers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates
from murmura.audit.fpl.upload_rows import PHASE
from murmura.core.rng import Stream


class FplAbsence(ItemAttack):
    """Rank items by how seldom their row was sent; meant for people who share no positive."""

    name: ClassVar[str] = "fpl-absence"
    title: ClassVar[str] = "items whose row never comes"
    against: ClassVar[tuple[str, ...]] = ("fpl",)

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """Nothing is certain, so nothing is asserted."""
        scores = np.zeros((known.info.clients, known.info.items))
        for sent_update in observed.phase(PHASE):
            scores[sent_update.client, sent_update.update.tables["items"].index] -= 1
        return ItemClaims(scores, np.zeros(scores.shape, np.bool_))
