"""Recommending on the device: it ranks with what it has and makes no request."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.contract import Algorithm, ClientState, FederationInfo, History, RoundContext
from murmura.core.rng import Rng, Words
from murmura.core.update import Arrays
from murmura.engine.reasons import sentence, term_reasons
from murmura.wire.manifest import Manifest
from murmura.wire.terms import FederationTerms


def recommend(
    terms: FederationTerms,
    manifest: Manifest,
    info: FederationInfo,
    model: Arrays,
    state: Arrays,
    history: History,
    secret: Words,
    k: int,
    answer: Arrays | None = None,
    people: int = 1,
) -> list[Ints]:
    """For all `people` of the device the k best items on offer that each does not have, the best first.

    A device that has learned nothing yet is someone who comes later: her part is made from the model as it
    stands. Ties go to the lower number.
    """
    algorithm, context, ready = _ready(terms, manifest, info, model, state, history, secret, answer)
    scores = np.asarray(algorithm.client_score(context, ready, history), np.float64)
    whose = np.zeros(len(history), np.int32) if history.person is None else history.person
    best = []
    for person in range(people):
        offered = np.setdiff1d(info.listed, history.item[whose == person])
        order = np.argsort(-scores[person, offered], kind="stable")
        best.append(offered[order[:k]].astype(np.int32))
    return best


def explain(
    terms: FederationTerms,
    manifest: Manifest,
    info: FederationInfo,
    model: Arrays,
    state: Arrays,
    history: History,
    secret: Words,
    shown: Ints,
) -> list[str]:
    """Why each of the shown items, the list of a device's one owner; nothing where scores are no sums."""
    algorithm, context, ready = _ready(terms, manifest, info, model, state, history, secret)
    sums = algorithm.client_terms(context, ready, history)
    if sums is None:
        return []
    offered = np.setdiff1d(info.listed, history.item).astype(np.int32)
    found = term_reasons(sums, offered, shown, len(shown))
    return [sentence(float(sums.scores[item]), parts) for item, parts in zip(shown.tolist(), found)]


def _ready(
    terms: FederationTerms,
    manifest: Manifest,
    info: FederationInfo,
    model: Arrays,
    state: Arrays,
    history: History,
    secret: Words,
    answer: Arrays | None = None,
) -> tuple[Algorithm, RoundContext, ClientState]:
    """What a device ranks with."""
    algorithm, rng = terms.algorithm(), Rng(secret, manifest.round + 1)
    context = RoundContext(info, "ready", manifest.round + 1, model, answer)
    if state:
        return algorithm, context, algorithm.client_ready(context, state, history, rng)
    return algorithm, context, algorithm.client_fold_in(context, history, rng)
