"""The sign of a bias gradient: only a positive's bias ever rises."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates
from murmura.audit.fpl.upload_rows import PHASE
from murmura.core.rng import Stream


class FplSigns(ItemAttack):
    """Items whose bias somebody raised are hers; of the others rather those she never lowered."""

    name: ClassVar[str] = "fpl-signs"
    title: ClassVar[str] = "items whose bias gradient is positive"
    against: ClassVar[tuple[str, ...]] = ("fpl",)

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """Raised items by how often, above all others by how seldom they were lowered."""
        raised, lowered = np.zeros((2, known.info.clients, known.info.items))
        k = int(known.settings["factors"])
        for sent_update in observed.phase(PHASE):
            rows = sent_update.update.tables["items"]
            raised[sent_update.client, rows.index] += rows.values[:, k] > 0
            lowered[sent_update.client, rows.index] += rows.values[:, k] < 0
        scores = np.where(raised > 0, len(observed.updates) + raised, -lowered)
        return ItemClaims(scores, raised > 0)
