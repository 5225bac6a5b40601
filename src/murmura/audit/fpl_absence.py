"""Negatives are drawn among the items somebody does not have: what never comes is perhaps hers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import Claims, ItemAttack, Known, Observed
from murmura.audit.fpl_rows import PHASE
from murmura.core.rng import Stream


class FplAbsence(ItemAttack):
    """Rank items by how seldom their row was sent; meant for people who share no positive."""

    name: ClassVar[str] = "fpl-absence"
    title: ClassVar[str] = "items whose row never comes"
    against: ClassVar[tuple[str, ...]] = ("fpl",)

    def claims(self, observed: Observed, known: Known, stream: Stream) -> Claims:
        """Nothing is certain, so nothing is asserted."""
        scores = np.zeros((known.public.clients, known.public.items))
        for letter in observed.phase(PHASE):
            scores[letter.client, letter.update.tables["items"].index] -= 1
        return Claims(scores, np.zeros(scores.shape, np.bool_))
