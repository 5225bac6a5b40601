"""p_u read off one upload, then used as its owner would: rank all items by b_i + p_u . q_i."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates
from murmura.audit.fpl.upload_rows import PHASE, negatives
from murmura.core.rng import Stream


class FplInversion(ItemAttack):
    """The recommender turned round: somebody's own ranking of all items, from her last upload."""

    name: ClassVar[str] = "fpl-inversion"
    title: ClassVar[str] = "p_u from a negative's row, then her own ranking"
    against: ClassVar[tuple[str, ...]] = ("fpl",)

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """Asserted are the best, as many as people have on average."""
        scores = np.zeros((known.info.clients, known.info.items))
        for sent_update in observed.phase(PHASE):
            rows = negatives(sent_update, known)
            if len(rows.item):
                p = rows.p[np.argmax(rows.g)]  # the row that rounding disturbs least
                scores[sent_update.client] = sent_update.model["b"] + sent_update.model["Q"] @ p
        return ItemClaims.best(scores, known.info.listed, known.usual("client"), "client")
