"""Ratings predicted from public patterns of items: what FedSPLIT and the methods with a ridge share.

The server publishes patterns and a bias of every item, and a mean; a client keeps weights and a bias of each of
its people: mu + b_i + b_u + w_u . patterns_i.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Floats
from murmura.core.contract import (
    Algorithm,
    ClientState,
    FederationInfo,
    History,
    RoundContext,
    ServerState,
)
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng
from murmura.core.update import Arrays

MU = TableSpec("mu", "dense", 1, 1, "float64")


class PatternRater(Algorithm):
    """mu + b_i + b_u + w_u . patterns_i."""

    precision: Literal["float32", "float64"]

    @property
    @abstractmethod
    def patterns(self) -> int:
        """How many numbers describe an item beside its bias."""

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The patterns and biases of items, and the mean."""
        patterns = TableSpec("patterns", "item", info.items, self.patterns, self.precision)
        b = TableSpec("b", "item", info.items, 1, self.precision)
        return MessageSpec((patterns, b, MU) if self.patterns else (b, MU))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known."""
        model = {"b": np.zeros(info.items, self.precision), "mu": np.zeros(1)}
        if self.patterns:
            model["patterns"] = np.zeros((info.items, self.patterns), self.precision)
        return ServerState(model)

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """Nothing is known; everybody's rows have room for the largest group."""
        return {"W": np.zeros((info.people, self.patterns)), "b": np.zeros(info.people)}

    def predictors(self, model: Arrays, state: ClientState) -> tuple[Floats, Floats, float]:
        """Patterns, perhaps none, and biases of items and the mean, in double precision."""
        b = model["b"].astype(np.float64).reshape(-1)
        patterns = model["patterns"] if "patterns" in model else np.zeros((len(b), 0))
        return patterns.astype(np.float64), b, mu_of(model)

    def rest(self, b_u: Floats, b_i: Floats, mu: float) -> Floats:
        """What is added to the products: b_u + b_i + mu."""
        added: Floats = b_u + b_i + mu
        return added

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Floats:
        """The ratings of all items: (people, items)."""
        patterns, b, mu = self.predictors(context.model, state)
        scores: Floats = state["W"] @ patterns.T + self.rest(state["b"][:, None], b, mu)
        return scores

    def client_predict(self, context: RoundContext, state: ClientState, queries: NDArray[Any]) -> Floats:
        """The ratings of pairs of a person of the group and an item."""
        person, item = queries.T
        patterns, b, mu = self.predictors(context.model, state)
        values: Floats = np.einsum("nf,nf->n", state["W"][person], patterns[item])
        values += self.rest(state["b"][person], b[item], mu)
        return values


def mu_of(model: Arrays) -> float:
    """The mean, from the public model."""
    return float(model["mu"].reshape(-1)[0])
