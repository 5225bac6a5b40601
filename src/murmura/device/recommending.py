"""Recommending on the device: it ranks with what it has and makes no request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmura.core.arrays import Ints
from murmura.core.contract import Algorithm, ClientState, FederationInfo, History, RoundContext
from murmura.core.rng import Rng, Words
from murmura.core.update import Arrays
from murmura.engine.reasons import sentence, term_reasons
from murmura.wire.manifest import Manifest
from murmura.wire.terms import FederationTerms


@dataclass(frozen=True, eq=False)
class OwnRanking:
    """What a device ranks with."""

    terms: FederationTerms
    manifest: Manifest
    info: FederationInfo
    model: Arrays
    state: Arrays
    history: History
    secret: Words
    answer: Arrays | None = None

    def recommend(self, k: int, people: int = 1) -> list[Ints]:
        """For all `people` of the device the k best items on offer that each does not have, the best first.

        A device that has learned nothing yet is someone who comes later: her part is made from the model as it
        stands. Ties go to the lower number.
        """
        history = self.history
        algorithm, context, ready = self._ready()
        scores = np.asarray(algorithm.client_score(context, ready, history), np.float64)
        whose = np.zeros(len(history), np.int32) if history.person is None else history.person
        best = []
        for person in range(people):
            offered = np.setdiff1d(self.info.listed, history.item[whose == person])
            order = np.argsort(-scores[person, offered], kind="stable")
            best.append(offered[order[:k]].astype(np.int32))
        return best

    def explain(self, shown: Ints) -> list[str]:
        """Why each of the shown items, the list of a device's one owner; nothing where scores are no sums."""
        algorithm, context, ready = self._ready()
        sums = algorithm.client_terms(context, ready, self.history)
        if sums is None:
            return []
        offered = np.setdiff1d(self.info.listed, self.history.item).astype(np.int32)
        found = term_reasons(sums, offered, shown, len(shown))
        return [sentence(float(sums.scores[item]), parts) for item, parts in zip(shown.tolist(), found)]

    def _ready(self) -> tuple[Algorithm, RoundContext, ClientState]:
        algorithm, next_round = self.terms.algorithm(), self.manifest.round + 1
        rng, context = (
            Rng(self.secret, next_round),
            RoundContext(self.info, "ready", next_round, self.model, self.answer),
        )
        if self.state:
            return algorithm, context, algorithm.client_ready(context, self.state, self.history, rng)
        return algorithm, context, algorithm.client_fold_in(context, self.history, rng)
