"""Attacks on the updates of FCF (Ammad-ud-din et al., arXiv 1901.09888): what one upload says.

FPL answers for a few drawn items. FCF answers for all of hers, or for all there are, in every upload; so one is
enough (thesis, section 4.6.1, says that FPL leaks less than FCF; it has no attack).

own items alone     the rows that come are the rows of what she has
all items           f(u, i) = c (x - p_u . q_i) p_u: every row is a multiple of p_u, and of an item that she
                    does not have the multiple is -p_u . q_i. Whoever takes that off has 0 left there, and
                    elsewhere what she has
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.core.arrays import Floats
from murmura.core.rng import Stream
from murmura.core.update import SentUpdate
from murmura.lab.audits.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates

TOLERANCE = 1e-4  # of the largest multiple: far above single precision, far below what an own item leaves


class FcfItems(ItemAttack):
    """Items for which an upload says something else than that they are not hers."""

    name: ClassVar[str] = "fcf-items"
    title: ClassVar[str] = "rows that come, or that differ from those of items somebody does not have"
    against: ClassVar[tuple[str, ...]] = ("fcf", "fcf-paper")

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """By how far the clearest of her uploads is from that of somebody without the item."""
        scores = np.zeros((known.info.clients, known.info.items))
        dense = "alpha" in known.settings  # the paper's form answers for all items on offer
        for sent in observed.phase("train"):
            if dense:
                listed = known.info.listed
                mine = scores[sent.client]
                mine[listed] = np.maximum(mine[listed], beyond_absence(sent, known))
            else:
                scores[sent.client, sent.update.tables["items"].index] = 1.0
        return ItemClaims(scores, scores > TOLERANCE)


def beyond_absence(sent: SentUpdate, known: AdversaryKnowledge) -> Floats:
    """(listed,) what is left of every row's multiple, over the largest: 0 where she does not have the item."""
    rows = sent.update.tables["items"].values.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1)
    if not norms.max(initial=0.0) > 0:
        return np.zeros(len(rows))
    way = rows[norms.argmax()] / norms.max()  # p_u / |p_u|, or minus that
    multiple, along = rows @ way, sent.model["Q"][known.info.listed].astype(np.float64) @ way
    clear = np.abs(along) > np.median(np.abs(along))  # where rounding disturbs the quotient least
    square = np.median(-multiple[clear] / along[clear])  # |p_u|^2: most people have less than half of all items
    left: Floats = np.abs(multiple + square * along) / np.abs(multiple).max()
    return left
