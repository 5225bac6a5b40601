"""The judge: it alone knows who has what, and says how much of it an attack found.

| key | meaning |
| --- | --- |
| pm-AUC | popularity-matched AUC (`pairing`): .5 is nothing beyond popularity |
| AUC | over all items on offer: popularity alone is already far above .5 |
| TPR@0.1% | share of somebody's items found before one in 1,000 of the others is (none, when they are fewer) |
| certain recall | share of somebody's items among the asserted ones |
| certain precision | how often an assertion is right |
| F1 | of the asserted items |
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from murmura.audit.attack import ItemClaims
from murmura.audit.matched_pairs import matched_auc
from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.errors import DataError
from murmura.core.population import Population

MEASURES = ("pm-AUC", "AUC", "TPR@0.1%", "certain recall", "certain precision", "F1")
FALSE_ALARMS = 0.001


@dataclass(frozen=True, eq=False)
class AttackScores:
    """What an attack found: a mean per client, over its people where claims are about people."""

    victims: int  # how many of them were judged
    per_client: dict[str, Floats]  # measure -> (clients,) NaN where it is not defined
    matched: float  # share of the victims' items that had rivals of like popularity on both sides


def judge(claims: ItemClaims, truth: Population, popularity: Longs, listed: Ints) -> AttackScores:
    """Compare claims about every client with what its people have; only items on offer count."""
    if claims.scores.shape != claims.asserted.shape or claims.scores.shape[0] != truth.clients:
        raise DataError(
            f"claims must be about each of the {truth.clients} clients, but scores are {claims.scores.shape} "
            f"and assertions {claims.asserted.shape}."
        )
    listed = listed[np.argsort(-popularity[listed], kind="stable")]  # sorted once: pairing finds it so
    place = np.full(len(popularity), -1)
    place[listed] = np.arange(len(listed))
    per_client = np.full((truth.clients, len(MEASURES)), math.nan)
    matched = rows = victims = 0
    for client in range(truth.clients):
        judged = []
        for has in holdings(truth, client, claims.of == "person", place, len(listed)):
            if not has.any() or has.all():
                continue
            scores, asserted = claims.scores[client, listed], claims.asserted[client, listed]
            values, fair = _one(scores, asserted, has, popularity[listed])
            judged.append(values)
            matched, rows, victims = matched + fair, rows + int(has.sum()), victims + 1
        if judged:
            per_client[client] = _mean(np.array(judged))
    columns = {name: per_client[:, n] for n, name in enumerate(MEASURES)}
    return AttackScores(victims, columns, matched / max(1, rows))


def holdings(truth: Population, client: int, each: bool, place: Longs, width: int) -> list[Bools]:
    """Which items on offer a client has, or each of its people."""
    rows = slice(int(truth.start[client]), int(truth.start[client + 1]))
    items = place[truth.item[rows]]
    owner = np.zeros(len(items), np.int32) if truth.person is None or not each else truth.person[rows]
    owner, items = owner[items >= 0], items[items >= 0]
    found = []
    for one in np.unique(owner):
        has = np.zeros(width, np.bool_)
        has[items[owner == one]] = True
        found.append(has)
    return found


def _one(scores: Floats, asserted: Bools, has: Bools, popularity: Longs) -> tuple[list[float], int]:
    paired, fair = matched_auc(scores, has, popularity)
    right = int((asserted & has).sum())
    claimed, own = int(asserted.sum()), int(has.sum())
    precision = right / claimed if claimed else math.nan
    f1 = 2 * right / (claimed + own)
    return [paired, auc(scores, has), tpr(scores, has), right / own, precision, f1], fair


def auc(scores: Floats, has: Bools) -> float:
    """How often an own item scores above another one; equal scores are half a win."""
    others = np.sort(scores[~has])
    low, high = (np.searchsorted(others, scores[has], side) for side in ("left", "right"))
    return float((low + high).mean() / (2 * len(others)))


def tpr(scores: Floats, has: Bools, false_alarms: float = FALSE_ALARMS) -> float:
    """The share of own items above all but a share `false_alarms` of the others, rounded down."""
    others = np.sort(scores[~has])[::-1]
    allowed = math.floor(false_alarms * len(others) + 1e-9)
    return float((scores[has] > others[allowed]).mean())


def _mean(values: Floats) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a measure that none of the people has stays NaN
        mean: Floats = np.nanmean(values, axis=0)
    return mean
