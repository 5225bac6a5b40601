"""Attacks that learn: what the updates of groups the adversary knows inside out say about those of others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from murmura.audit.attack import AdversaryKnowledge, ItemAttack, ItemClaims, ObservedUpdates
from murmura.core.population import Population
from murmura.core.rng import Stream


def claims_of(
    attack: ItemAttack, observed: ObservedUpdates, known: AdversaryKnowledge, truth: Population, stream: Stream
) -> ItemClaims:
    """The claims of any attack; one that learns is told every second client, and claims about the others.

    It does so twice, with either half, so that every client is claimed about by who did not know it.
    """
    if not attack.learns:
        return attack.claims(observed, known, stream)
    clients = np.arange(truth.clients)
    halves = []
    for told in (clients[::2], clients[1::2]):
        inside = {int(one): np.unique(truth.history(int(one), 0).item) for one in told}
        halves.append(attack.claims(observed, replace(known, insiders=inside), stream))
    scores, asserted = halves[0].scores.copy(), halves[0].asserted.copy()
    scores[::2], asserted[::2] = halves[1].scores[::2], halves[1].asserted[::2]
    return ItemClaims(scores, asserted, halves[0].of)
