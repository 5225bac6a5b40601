"""Model extraction: a copy of a model made of its answers alone (Ferrara's thesis, section 3.2).

Tramèr, Zhang, Juels, Reiter and Ristenpart: Stealing machine learning models via prediction APIs (USENIX
Security 2016). The attacker knows neither data nor parameters. It asks for the list of somebody who has one
item, for many items in turn, and adds the answers up: an item of a list counts by its place. The copy is judged
by the lists it gives to people whom the attacker has never met.

Who is a device of a federation needs no attack: the public model is sent to every device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from murmura.core.arrays import Floats, Ints
from murmura.core.contract import Algorithm
from murmura.core.interactions import Interactions
from murmura.core.rng import Rng, Stream, server_secret
from murmura.lab.audits.judge import AttackScores
from murmura.lab.audits.sums.canaries import TrainingAttack
from murmura.lab.audits.sums.sum_attack import SUMS, VICTIMS
from murmura.runtimes.simulation import FederatedMethod

QUERIES, LENGTH = 1000, 10  # lists the attacker asks for, and how long they are
COPIED, POPULAR = "copied", "copied by what is often listed"
Answer = Callable[[Ints], Ints]  # the items of somebody -> the list she gets, the best first, -1: none


def extraction_scores(ready: FederatedMethod, train: Interactions, seed: int) -> AttackScores:
    """Train once, copy the model by QUERIES lists, and compare its lists for some people with the model's."""
    stream = Rng(server_secret(seed)).stream(SUMS)
    fitted = ready.fit(train, seed)

    def answer(items: Ints) -> Ints:
        found: Ints = fitted.recommend_history(items, LENGTH).item[0]
        return found

    copy = extract(answer, fitted.plan.info.listed, stream)
    often = copied_scores(copy, list(copy), train.n_items)
    having = np.flatnonzero(train.user_counts).astype(np.int32)
    victims = having[np.sort(stream.choose(len(having), min(VICTIMS, len(having))))]
    found = {name: np.full(train.n_users, np.nan) for name in (COPIED, POPULAR)}
    for victim in victims.tolist():
        own = np.unique(train.by_user.of(victim)).astype(np.int32)
        meant = answer(own)
        found[COPIED][victim] = overlap(listed(copied_scores(copy, own.tolist(), train.n_items), own), meant)
        found[POPULAR][victim] = overlap(listed(often, own), meant)
    return AttackScores(len(victims), found, 1.0)


def extract(answer: Answer, offered: Ints, stream: Stream, queries: int = QUERIES) -> dict[int, Ints]:
    """The list of somebody who has one item, for so many items on offer, drawn."""
    asked = offered[np.sort(stream.choose(len(offered), min(queries, len(offered))))]
    lists = {item: answer(np.array([item], np.int32)) for item in asked.tolist()}
    return {item: got[got >= 0] for item, got in lists.items()}


def copied_scores(copy: dict[int, Ints], own: Sequence[int], items: int) -> Floats:
    """(items,) what the lists of these items say together: 1 / log2(1 + place) each."""
    scores = np.zeros(items)
    for got in (copy[item] for item in own if item in copy):
        scores[got] += 1 / np.log2(np.arange(len(got)) + 2)
    return scores


def listed(scores: Floats, own: Ints, length: int = LENGTH) -> Ints:
    """The best items with a score that are not her own; of equal ones the lower."""
    scores = scores.copy()
    scores[own] = 0.0
    best = np.argsort(-scores, kind="stable")[:length]
    return best[scores[best] > 0].astype(np.int32)


def overlap(copied: Ints, meant: Ints) -> float:
    """The share of a list that another one has."""
    meant = meant[meant >= 0]
    return float(np.isin(meant, copied).mean()) if len(meant) else np.nan


def ranks(algorithm: Algorithm) -> bool:
    """Whether an algorithm gives lists of items."""
    return algorithm.holds == "history" and type(algorithm).client_score is not Algorithm.client_score


EXTRACTION = TrainingAttack(
    "model-extraction",
    f"a copy made of {QUERIES:,} lists, each for somebody with one item",
    "list",
    extraction_scores,
    suits=ranks,
)
ATTACKS = (EXTRACTION,)
