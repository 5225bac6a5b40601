"""Residual matching: a negative's row carries the score of the positive it was compared with.

From g = 1 / (1 + exp(x_ui - x_uj)) follows x_ui = x_uj + ln((1 - g) / g), and with p_u (see `fpl_rows`) the
server computes the score of every item: the only one with that score is the positive, sent or not. So it works
at pi = 0, where no row of a positive ever leaves.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.audit.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates
from murmura.audit.fpl.upload_rows import PHASE, negatives
from murmura.core.arrays import Ints
from murmura.core.observer import SentUpdate
from murmura.core.rng import Stream

TOLERANCES = {"float32": 2e-5, "float64": 1e-8}  # a few roundings of numbers around 1


class FplResiduals(ItemAttack):
    """Vote for the item whose score is the hidden positive's; every row of every upload has one vote."""

    name: ClassVar[str] = "fpl-residuals"
    title: ClassVar[str] = "the hidden positive's score in a negative's row"
    against: ClassVar[tuple[str, ...]] = ("fpl",)

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """By votes; one is enough for an assertion."""
        votes = np.zeros((known.info.clients, known.info.items))
        for sent_update in observed.phase(PHASE):
            np.add.at(votes[sent_update.client], matches(sent_update, known), 1)
        return ItemClaims(votes, votes > 0)


def matches(sent_update: SentUpdate, known: AdversaryKnowledge) -> Ints:
    """The item each negative was compared with, where exactly one has the right score."""
    rows = negatives(sent_update, known)
    Q, b = sent_update.model["Q"].astype(np.float64), sent_update.model["b"].astype(np.float64)
    listed = known.info.listed
    own = b[rows.item] + np.einsum("nf,nf->n", rows.p, Q[rows.item])
    with np.errstate(invalid="ignore", divide="ignore"):
        hidden = own + np.log((1 - rows.g) / rows.g)  # a row of several draws may have g above 1: NaN
    away = np.abs(rows.p @ Q[listed].T + b[listed] - hidden[:, None])
    near = away <= TOLERANCES[str(known.settings["precision"])]
    only = near.sum(axis=1) == 1
    found: Ints = listed[near[only].argmax(axis=1)]
    return found
