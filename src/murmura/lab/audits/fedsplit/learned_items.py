"""Which items a FedSPLIT group has rated, by an adversary that has learned what rated rows look like.

It knows every second group inside out (its own, or bribed ones), and fits a logistic regression on the rows of
their updates: how far the bias is from the prior's, how large and how uneven the factors are, how popular the
item is, their squares and products. It is the yardstick for covers such as decoys, against which comparing with
a resting value finds nothing.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.rng import Stream
from murmura.core.update import SentUpdate
from murmura.lab.audits.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates
from murmura.lab.audits.fedsplit.group_updates import update_table

RIDGE = 1.0
STEPS = 15
SURE = 0.9  # an item is asserted from this probability on


class FedSplitLearned(ItemAttack):
    """A logistic regression on rows of updates, taught by every second group about the others."""

    name: ClassVar[str] = "fedsplit-learned"
    title: ClassVar[str] = "items of a group: rows that look rated, learned from the other half of the groups"
    against: ClassVar[tuple[str, ...]] = ("fedsplit",)
    learns: ClassVar[bool] = True

    def claims(self, observed: ObservedUpdates, known: AdversaryKnowledge, stream: Stream) -> ItemClaims:
        """The log odds of every item; asserted where the probability is at least SURE."""
        listed, shape = known.info.listed, (known.info.clients, known.info.items)
        rows = {
            sent_update.client: features(sent_update, known)[listed]
            for sent_update in observed.phase("factors")
        }
        inside = [client for client in rows if client in known.insiders]
        scores = np.zeros(shape)
        if inside:
            X = np.concatenate([rows[client] for client in inside])
            y = np.concatenate([np.isin(listed, known.insiders[client]) for client in inside])
            weights = logistic(X, y.astype(np.float64))
            for client, own in rows.items():
                scores[client, listed] = own @ weights
        return ItemClaims(scores, scores >= np.log(SURE / (1 - SURE)))


def features(sent_update: SentUpdate, known: AdversaryKnowledge) -> Floats:
    """One row per item: a constant, six numbers and their products, on the update's own scale."""
    k = int(known.settings["factors"])
    table = update_table(sent_update, known.info.items)
    H, b = table[:, :k], table[:, k]
    H = H[:, H.any(axis=0)]
    prior = sent_update.model["prior"][:, 0] if "prior" in sent_update.model else np.zeros(len(b))
    away = b - prior
    columns = [away, np.abs(away), H.sum(axis=1), H.max(axis=1, initial=0.0), H.std(axis=1)]
    columns.append(np.log1p(known.popularity.astype(np.float64)))
    scaled = np.column_stack([_standard(column, known.info.listed) for column in columns])
    first, second = np.triu_indices(scaled.shape[1])
    return np.column_stack([np.ones(len(scaled)), scaled, scaled[:, first] * scaled[:, second]])


def _standard(column: Floats, listed: Ints) -> Floats:
    own = column[listed]
    standard: Floats = np.clip((column - own.mean()) / (own.std() + 1e-12), -6, 6)
    return standard


def logistic(X: Floats, y: Floats) -> Floats:
    """Weights of a logistic regression with a ridge, by Newton's steps."""
    w = np.zeros(X.shape[1])
    penalty = RIDGE * np.eye(X.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(X @ w, -30, 30)))
        slope = X.T @ (y - p) - penalty @ w
        curve = (X * (p * (1 - p))[:, None]).T @ X + penalty
        w = w + np.linalg.solve(curve, slope)
    return w
