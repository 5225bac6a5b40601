"""Lin, Liang, Pan and Ming: FedRec: Federated Recommendation with Explicit Feedback (IEEE IS 2021).

Ratings p_u . q_i. A client sends gradient rows of its rated items and of `negatives` times as many unrated ones
with made-up ratings: her mean at first, her own prediction after `predict_from` rounds. The server divides the
sum of each row by its senders ("batch style"). The unrated items are drawn anew in each round, as in the code,
so intersecting a client's rounds finds the rated ones; `sticky` draws them once. In FedRec++ (AAAI 2021) other
clients send the noise's negative: its sums are those of negatives = 0, as are those of a secure sum.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.preset import ROUNDS, Preset
from murmura.core.arrays import Floats, Longs
from murmura.core.contract import (
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Count, NonNegative, Positive, Times, settings
from murmura.core.update import SparseRows, Update
from murmura.lab.rivals.federated.samples import SampledRival


@settings
class FedRec(SampledRival):
    """Factors of ratings, rated items among made-up ones."""

    name: ClassVar[str] = "fedrec"

    factors: Count = 20
    negatives: Times = 3  # rho: unrated items with a made-up rating for each rated one
    rate: Positive = 0.8  # gamma of the first round
    rate_decay: Positive = 0.9  # and what is left of it after each
    reg: NonNegative = 0.001  # lambda: how strongly vectors are drawn to 0
    predict_from: Times = 10  # made-up ratings are the mean before this round, predictions from it on
    local_steps: Count = 10  # for the vector of those predictions
    sticky: bool = False  # whether the unrated items of a client stay the same
    spread: NonNegative = 0.01

    @property
    def width(self) -> int:
        """A gradient, and one that says who sent the row."""
        return self.factors + 1

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Normals, and the round."""
        return ServerState(super().server_init(info, rng).model, {"round": np.zeros(1, np.int64)})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """A small vector, and the mean of the own ratings."""
        mean = history.value.mean() if len(history) else 0.0
        return {"p": self.own_vector(rng, self.spread), "mean": np.array([mean], self.precision)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """A step of the vector; gradient rows of rated and made-up ratings leave."""
        rows = history.rows(rng.stream(Purpose.COINS).coins(history.consent))
        Q, p, t = context.model["Q"], state["p"], context.round
        drawn = self.draw(context.info, history.item, rows.item, Rng(rng.secret, 0) if self.sticky else rng)
        filled = np.unique(drawn.item[drawn.label == 0]).astype(np.int32)
        made_up = np.full(len(filled), float(state["mean"][0]))
        if t >= self.predict_from:
            made_up = Q[filled] @ self._refitted(Q, p, rows, t)
        item, value = np.concatenate([rows.item, filled]), np.concatenate([rows.value, made_up])
        gamma, error = self._gamma(t), value - Q[item] @ p
        order = np.argsort(item)
        climb = -error[:, None] * p + self.reg * Q[item]
        sent = np.column_stack([climb, np.ones(len(item))])[order].astype(self.precision)
        if len(item):
            p = (p - gamma * (self.reg * p - error @ Q[item] / len(item))).astype(p.dtype)
        return {**state, "p": p}, Update({"items": SparseRows(item[order].astype(np.int32), sent)})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """q -= gamma sum / senders."""
        assert isinstance(received, Total)
        Q, sent = server.model["Q"].copy(), received.update.tables["items"]
        round = int(server.private["round"][0])
        mean = sent.values[:, :-1] / np.maximum(sent.values[:, -1:], 1)
        Q[sent.index] -= (self._gamma(round) * mean).astype(Q.dtype)
        return ServerState({"Q": Q}, {"round": np.array([round + 1])}), {}

    def client_predict(self, context: RoundContext, state: ClientState, queries: NDArray[Any]) -> Floats:
        """p . q within the scale."""
        found: Floats = np.clip(context.model["Q"][queries[:, 1]] @ state["p"], 1.0, 5.0)
        return found

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> NDArray[Any]:
        """The predictions of all items."""
        return (context.model["Q"] @ state["p"])[None]

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """A vector fitted to the own ratings on the frozen table."""
        Q, state = context.model["Q"], self.client_init(context.info, history, rng)
        own = Q[history.item].astype(np.float64)
        ridge = own.T @ own + (self.reg * max(len(history), 1) + 1e-9) * np.eye(self.factors)
        return {**state, "p": np.linalg.solve(ridge, own.T @ history.value).astype(self.precision)}

    def check_rows(self, value: Floats, time: Longs | None) -> None:
        """Any ratings will do."""

    def _gamma(self, round: int) -> float:
        return float(self.rate * self.rate_decay**round)

    def _refitted(self, Q: NDArray[Any], p: NDArray[Any], rows: History, round: int) -> NDArray[Any]:
        """The vector of predictions: some steps on the own ratings alone."""
        if not len(rows):
            return p
        for _ in range(self.local_steps):
            error = rows.value - Q[rows.item] @ p
            p = p - self._gamma(round) * (self.reg * p - error @ Q[rows.item] / len(rows))
        return p


FEDREC = Preset(
    "fedrec",
    FedRec,
    "FedRec: factors of ratings, rated items among others with made-up ratings.",
    {"clients": "all", "rounds_per_epoch": 1, "epochs": 100},
    ROUNDS,
)
