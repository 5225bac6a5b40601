"""Recommending on the device: it ranks with what it has and makes no request."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.contract import FederationInfo, History, RoundContext
from murmura.core.rng import Rng, Words
from murmura.core.update import Arrays
from murmura.runtimes.http.protocol.manifest import Manifest


def recommend(
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
    algorithm, rng = manifest.algorithm(), Rng(secret, manifest.round + 1)
    context = RoundContext(info, "ready", manifest.round + 1, model, answer)
    ready = (
        algorithm.client_ready(context, state, history, rng)
        if state
        else algorithm.client_fold_in(context, history, rng)
    )
    scores = np.asarray(algorithm.client_score(context, ready, history), np.float64)
    whose = np.zeros(len(history), np.int32) if history.person is None else history.person
    best = []
    for person in range(people):
        offered = np.setdiff1d(info.listed, history.item[whose == person])
        order = np.argsort(-scores[person, offered], kind="stable")
        best.append(offered[order[:k]].astype(np.int32))
    return best
