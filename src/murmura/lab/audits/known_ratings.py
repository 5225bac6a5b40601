"""Ratings an adversary knows already, more and more of them, and how far the others then are from its guesses.

The paper's section 4.4: a share of the people of a group (all their ratings), of the items the group has rated
(all ratings of them), or of the single ratings. It scores the guesses over all ratings, the known ones
included, which flatters the attacker more the more it knew; we score them also over what it did not know.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.contract import History
from murmura.core.population import Population
from murmura.core.rng import Stream
from murmura.lab.audits.attack import AdversaryKnowledge, ObservedUpdates, RatingAttack, RatingQuestion

KINDS = ("people", "items", "ratings")
SHARES = tuple(step / 20 for step in range(21))  # 0, 5 %, ..., 100 %
SCORES = ("error/all", "error/unknown", "exact/unknown")


@dataclass(frozen=True, eq=False)
class GuessScores:
    """How one attack did with one share of hints: relative errors (equation 4) and exact guesses."""

    attack: str
    kind: str  # what the share is of
    share: float
    per_client: dict[str, Floats]  # score -> (clients,) NaN where nothing is unknown, or no update came


def guess(
    attacks: Sequence[RatingAttack],
    observed: ObservedUpdates,
    known: AdversaryKnowledge,
    truth: Population,
    stream: Stream,
    shares: Sequence[float] = SHARES,
) -> list[GuessScores]:
    """Every attack with the same hints; those of a smaller share are among those of a larger one."""
    scale = np.unique(truth.value)
    sent = sorted({sent_update.client for sent_update in observed.phase("factors")})
    found = []
    for kind in KINDS:
        orders = {client: _order(truth.history(client, 0), kind, stream) for client in sent}
        for share in shares:
            tables = {attack.name: np.full((truth.clients, len(SCORES)), math.nan) for attack in attacks}
            for client in sent:
                ratings, (unit, rank) = truth.history(client, 0), orders[client]
                told = rank[unit] < math.floor(share * len(rank) + 1e-9)
                for attack in attacks:
                    asked = RatingQuestion(client, ratings.rows(told), ratings.owners, ratings.item)
                    estimates = attack.estimates(observed, known, asked)
                    tables[attack.name][client] = scores(ratings.value, estimates, told, scale)
            for name, table in tables.items():
                columns = {score: table[:, n] for n, score in enumerate(SCORES)}
                found.append(GuessScores(name, kind, share, columns))
    return found


def _order(ratings: History, kind: str, stream: Stream) -> tuple[Ints, Longs]:
    """The unit each rating belongs to (a person, an item, itself), and the random rank of every unit."""
    each = np.arange(len(ratings), dtype=np.int32)
    column = {"people": ratings.owners, "items": ratings.item, "ratings": each}[kind]
    units, unit = np.unique(column, return_inverse=True)
    rank = np.empty(len(units), np.int64)
    rank[np.argsort(stream.words(len(units)), kind="stable")] = np.arange(len(units))
    return unit.astype(np.int32), rank


def scores(values: Floats, estimates: Floats, told: Bools, scale: Floats) -> list[float]:
    """SCORES of one client: |x - guess|² / |x|² over all and over the unknown, and exact guesses of those."""
    errors, sizes, hidden = (values - estimates) ** 2, values**2, ~told
    if not hidden.any():
        return [float(errors.sum() / sizes.sum()), math.nan, math.nan]
    nearest = scale[np.abs(estimates[:, None] - scale).argmin(axis=1)]
    return [
        float(errors.sum() / sizes.sum()),
        float(errors[hidden].sum() / sizes[hidden].sum()),
        float((nearest == values)[hidden].mean()),
    ]
