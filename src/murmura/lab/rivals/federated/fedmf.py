"""Chai, Wang, Chen and Yang: Secure Federated Matrix Factorization (IEEE Intelligent Systems 36, 2021).

The server holds item vectors, a client the vectors of its people; in every round clients send gradients of item
vectors, of which the server needs only the sum (the paper encrypts them homomorphically, here a secure sum can
carry them). Where this departs: ratings are mu + b_i + b_u + p_u . q_i (equation 2.4 of Ferrara's thesis)
in place of p_u . q_i, with mu and the first b_i from one sum of ratings before; b_u and p_u are the exact ridge
regression on the received model, as in FCF, in place of a gradient step; the server steps with Adam. Only rated
items have a row in an update, the paper's "part text": their numbers tell what was rated to whoever reads one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms import optimisers
from murmura.algorithms.one_shot.ridge_rater import ItemMeans
from murmura.algorithms.preset import ROUNDS, Preset
from murmura.core.arrays import Floats
from murmura.core.contract import (
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.schedule import Grouping
from murmura.core.settings import Count, Positive, settings
from murmura.core.update import SparseRows, Update

SPREAD = 0.1  # q starts as N(0, 0.1^2)


@settings
class FedMF(ItemMeans):
    """p_u and b_u solved on the client, summed gradients of q_i and b_i, Adam on the server."""

    name: ClassVar[str] = "fedmf"
    releases_pairs: ClassVar[bool] = False  # its biases move on with every round

    factors: Count = 20  # length of the vectors
    gamma: Positive = 0.04  # the server's learning rate
    ridge: Positive = 15.0  # lambda of p_u
    reg: Positive = 15.0  # lambda of q_i

    @property
    def patterns(self) -> int:
        """The length of q_i."""
        return self.factors

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One sum of ratings and counts, then a sum of gradients in every round."""
        (means,) = super().phases(info)
        rows = TableSpec("items", "item", info.items, self.factors + 1, self.precision)
        return replace(means, returns=False), Phase("train", MessageSpec((rows,)))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """q from N(0, 0.1^2); no bias is known."""
        draws = SPREAD * rng.stream(Purpose.INIT).normals(info.items * self.factors)
        Q = draws.reshape(info.items, self.factors).astype(self.precision)
        model = {**super().server_init(info, rng).model, "patterns": Q}
        memory = optimisers.begin("adam", np.zeros((info.items, self.factors + 1), self.precision))
        clients = np.array([info.clients], np.int64)
        return ServerState(model, {**memory, "listed": info.listed, "clients": clients})

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """Vectors are solved from shared ratings, and gradients of their items leave; others tell nothing."""
        if context.phase == "ratings":
            return super().client_step(context, state, history, rng)
        rows = history.rows(history.open_rows(rng))
        state = self.client_fold_in(context, rows, rng)
        error = rows.value - self.client_predict(context, state, np.column_stack([rows.owners, rows.item]))
        climb = np.column_stack([error[:, None] * state["W"][rows.owners], error])
        sent = SparseRows.of(rows.item, climb)
        return state, Update({"items": SparseRows(sent.index, sent.values.astype(self.precision))})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Adam along the sum of e p_u and of e, less the decay; a cohort's sum stands for everyone's."""
        assert isinstance(received, Total)
        if phase == "ratings":
            means, _ = super().server_step(phase, server, received)
            return ServerState({**server.model, **means.model}, server.private), {}
        listed, sent = server.private["listed"], received.update.tables["items"]
        theta = np.column_stack([server.model["patterns"], server.model["b"].reshape(-1)])
        climb: NDArray[np.float64] = np.zeros(theta.shape)
        climb[sent.index] = sent.values * (int(server.private["clients"][0]) / max(received.count, 1))
        climb -= theta * self._decay()
        step = SparseRows(listed, climb[listed].astype(self.precision))
        moved, memory = optimisers.move("adam", self.gamma, theta, server.private, step)
        model = {**server.model, "patterns": moved[:, :-1].copy(), "b": moved[:, -1].copy()}
        return ServerState(model, memory), {}

    def _decay(self) -> Floats:
        """How strongly each column is drawn to 0."""
        return np.append(np.full(self.factors, self.reg), self.shrink_bias)


FEDMF = Preset(
    "fedmf",
    FedMF,
    "FedMF: factors of ratings learned in rounds from summed gradients of item vectors.",
    {"clients": "all", "rounds_per_epoch": 1, "epochs": 50},
    (*ROUNDS, Grouping),
)
