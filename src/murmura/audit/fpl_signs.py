"""The sign of a bias gradient: only a positive's bias ever rises."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import Claims, ItemAttack, Known, Observed
from murmura.audit.fpl_rows import PHASE
from murmura.core.rng import Stream


class FplSigns(ItemAttack):
    """Items whose bias somebody raised are hers; of the others rather those she never lowered."""

    name: ClassVar[str] = "fpl-signs"
    title: ClassVar[str] = "items whose bias gradient is positive"
    against: ClassVar[tuple[str, ...]] = ("fpl",)

    def claims(self, observed: Observed, known: Known, stream: Stream) -> Claims:
        """Raised items by how often, above all others by how seldom they were lowered."""
        raised, lowered = np.zeros((2, known.public.clients, known.public.items))
        k = int(known.settings["factors"])
        for letter in observed.phase(PHASE):
            rows = letter.update.tables["items"]
            raised[letter.client, rows.index] += rows.values[:, k] > 0
            lowered[letter.client, rows.index] += rows.values[:, k] < 0
        scores = np.where(raised > 0, len(observed.letters) + raised, -lowered)
        return Claims(scores, raised > 0)
