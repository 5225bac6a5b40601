"""The judge: it alone knows who has what, and says how much of it an attack found.

| key | meaning |
| --- | --- |
| pm-AUC | popularity-matched AUC (`matched_auc`): .5 is nothing beyond popularity |
| AUC | over all items on offer: popularity alone is already far above .5 |
| TPR@0.1% | share of somebody's items found before one in 1,000 of the others is (none, when they are fewer) |
| certain recall | share of somebody's items among the asserted ones |
| certain precision | how often an assertion is right |
| F1 | of the asserted items |
| exposed people | share of people of whom something is asserted, and nothing wrongly |

Of claims about rounds (`judge_traces`) AUC and TPR@0.1% are over rounds and people: a round somebody was in
against all rounds of all victims they were not in, the mean over people.

Whoever ranks by popularity alone tells most people's items from others: on MovieLens with an AUC around .85. A
pair of neighbours in popularity takes that away, so that .5 means: nothing beyond what is popular anyway.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.contract import History
from murmura.core.errors import DataError
from murmura.core.population import Population
from murmura.core.rng import Stream
from murmura.lab.audits.attack import (
    AdversaryKnowledge,
    ItemClaims,
    ObservedUpdates,
    RatingAttack,
    RatingQuestion,
)

MEASURES = ("pm-AUC", "AUC", "TPR@0.1%", "certain recall", "certain precision", "F1", "exposed people")
FALSE_ALARMS = 0.001
ALARMS = tuple(round(10.0 ** (step / 3 - 4), 6) for step in range(13))  # 0.0001 to 1


@dataclass(frozen=True, eq=False)
class AttackScores:
    """What an attack found: a mean per client, over its people where claims are about people."""

    victims: int  # how many of them were judged
    per_client: dict[str, Floats]  # measure -> (clients,) NaN where it is not defined
    matched: float  # share of the victims' items that had rivals of like popularity on both sides
    roc: tuple[tuple[float, float], ...] = ()  # of claims about rounds: false alarms, and what is found at them


def judge(claims: ItemClaims, truth: Population, popularity: Longs, listed: Ints) -> AttackScores:
    """Compare claims about every client with what its people have; only items on offer and asked for count."""
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
        among = slice(None) if claims.asked is None else claims.asked[client, listed]
        items = listed[among]
        for whole in holdings(truth, client, claims.of == "person", place, len(listed)):
            has = whole[among]
            if not has.any() or has.all():
                continue
            scores, asserted = claims.scores[client, items], claims.asserted[client, items]
            values, fair = _one(scores, asserted, has, popularity[items])
            judged.append(values)
            matched, rows, victims = matched + fair, rows + int(has.sum()), victims + 1
        if judged:
            per_client[client] = known_mean(np.array(judged))
    columns = {name: per_client[:, n] for n, name in enumerate(MEASURES)}
    return AttackScores(victims, columns, matched / max(1, rows))


def judge_traces(traces: Floats, there: Bools, victims: Ints, clients: int) -> AttackScores:
    """Scores of (victims, rounds) against who was in which: one scale for all people and rounds."""
    if traces.shape != there.shape or len(traces) != len(victims):
        raise DataError(
            f"traces must be of {len(victims)} victims in each round, but are {traces.shape} for {there.shape}."
        )
    found = {name: np.full(clients, math.nan) for name in ("AUC", "TPR@0.1%")}
    others = np.sort(traces[~there])
    victims_judged = 0
    for n, victim in enumerate(victims.tolist()):
        if there[n].any() and len(others):
            mine = traces[n, there[n]]
            found["AUC"][victim] = float(_share_below(others, mine).mean())
            found["TPR@0.1%"][victim] = float((mine > _threshold(others)).mean())
            victims_judged += 1
    return AttackScores(victims_judged, found, 1.0, roc(traces[there], others))


def roc(mine: Floats, others: Floats) -> tuple[tuple[float, float], ...]:
    """What is found at some shares of false alarms: `mine` were there, the others, ascending, were not."""
    if not len(mine) or not len(others):
        return ()
    shares = [share for share in ALARMS if share * len(others) >= 1]
    return tuple((share, float((mine > _threshold(others, share)).mean())) for share in shares if share < 1)


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
    certain = float(0 < right == claimed)
    return [paired, auc(scores, has), tpr(scores, has), right / own, precision, f1, certain], fair


def matched_auc(scores: Floats, has: Bools, popularity: Longs) -> tuple[float, int]:
    """How often an own item scores above its neighbours in popularity, and how many own items have them.

    The items stand in a row by popularity. An own item meets the nearest other ones on both sides, each
    counting half; where one of the two is exactly as popular, it meets that one alone. Equal scores are half a
    win, so whoever scores by popularity gets .5 exactly. An own item without a rival as popular and with
    others on one side only (all more popular ones are hers too) has no fair rival, and is left out.
    """
    order = np.argsort(-popularity, kind="stable")
    own, others = np.flatnonzero(has[order]), np.flatnonzero(~has[order])
    if not len(own) or not len(others):
        return float("nan"), 0
    after = np.searchsorted(others, own)
    inside = (after > 0) & (after < len(others))
    more, less = others[np.maximum(after - 1, 0)], others[np.minimum(after, len(others) - 1)]
    crowd = popularity[order]
    even_more, even_less = crowd[more] == crowd[own], crowd[less] == crowd[own]
    fair = inside | even_more | even_less
    if not fair.any():
        return float("nan"), 0
    first = np.where(even_less & ~even_more, less, more)[fair]
    second = np.where(even_more & ~even_less, more, less)[fair]
    ranked = scores[order]
    mine, rivals = ranked[own[fair]], ranked[np.stack([first, second])]
    wins = (mine > rivals) + 0.5 * (mine == rivals)
    return float(wins.mean()), int(fair.sum())


def auc(scores: Floats, has: Bools) -> float:
    """How often an own item scores above another one; equal scores are half a win."""
    return float(_share_below(np.sort(scores[~has]), scores[has]).mean())


def tpr(scores: Floats, has: Bools, false_alarms: float = FALSE_ALARMS) -> float:
    """The share of own items above all but a share `false_alarms` of the others, rounded down."""
    return float((scores[has] > _threshold(np.sort(scores[~has]), false_alarms)).mean())


def _share_below(others: Floats, mine: Floats) -> Floats:
    """The share of the others, ascending, that each is above; equals are half."""
    low, high = (np.searchsorted(others, mine, side) for side in ("left", "right"))
    share: Floats = (low + high) / (2 * len(others))
    return share


def _threshold(others: Floats, false_alarms: float = FALSE_ALARMS) -> float:
    """Above it are no more than a share `false_alarms` of the others, ascending, rounded down."""
    return float(others[len(others) - 1 - math.floor(false_alarms * len(others) + 1e-9)])


def known_mean(values: Floats) -> Floats:
    """The mean of every column over the rows that have it; NaN where none has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        mean: Floats = np.nanmean(values, axis=0)
    return mean


KINDS = ("people", "items", "ratings")
SHARES = tuple(step / 20 for step in range(21))  # 0, 5 %, ..., 100 %
SCORES = ("error/all", "error/unknown", "exact/unknown")


@dataclass(frozen=True, eq=False)
class GuessScores:
    """How one attack did with one share of hints: relative errors (equation 4) and exact guesses.

    Ratings an adversary knows already, more and more of them, and how far the others then are from its guesses.

    The paper's section 4.4: a share of the people of a group (all their ratings), of the items the group has
    rated (all ratings of them), or of the single ratings. It scores the guesses over all ratings, the known
    ones included, which flatters the attacker more the more it knew; we score them also over what it did not
    know.
    """

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
                revealed = rank[unit] < math.floor(share * len(rank) + 1e-9)
                for attack in attacks:
                    asked = RatingQuestion(client, ratings.rows(revealed), ratings.owners, ratings.item)
                    estimates = attack.estimates(observed, known, asked)
                    tables[attack.name][client] = scores(ratings.value, estimates, revealed, scale)
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


def scores(values: Floats, estimates: Floats, revealed: Bools, scale: Floats) -> list[float]:
    """SCORES of one client: |x - guess|² / |x|² over all and over the unknown, and exact guesses of those."""
    errors, sizes, hidden = (values - estimates) ** 2, values**2, ~revealed
    if not hidden.any():
        return [float(errors.sum() / sizes.sum()), math.nan, math.nan]
    nearest = scale[np.abs(estimates[:, None] - scale).argmin(axis=1)]
    return [
        float(errors.sum() / sizes.sum()),
        float(errors[hidden].sum() / sizes[hidden].sum()),
        float((nearest == values)[hidden].mean()),
    ]
