"""Recommending on the device: it ranks with what it has and makes no request."""

from __future__ import annotations

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.federation import Call, History, Public
from murmura.core.rng import Rng, Words
from murmura.core.update import Arrays
from murmura.runtimes.http.manifest import Manifest


def recommend(
    manifest: Manifest,
    public: Public,
    model: Arrays,
    state: Arrays,
    history: History,
    secret: Words,
    k: int,
    answer: Arrays | None = None,
) -> Ints:
    """The k best items on offer that the owner does not have, the best first; ties go to the lower number."""
    algorithm, rng = manifest.algorithm(), Rng(secret, manifest.round + 1)
    call = Call(public, "ready", manifest.round + 1, model, answer)
    ready = algorithm.client_ready(call, state, history, rng)
    scores = np.asarray(algorithm.client_score(model, ready, history)[0], np.float64)
    offered = np.setdiff1d(public.listed, history.item)
    order = np.argsort(-scores[offered], kind="stable")
    return offered[order[:k]].astype(np.int32)
