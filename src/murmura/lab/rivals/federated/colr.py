"""Nguyen, Tran et al.: Towards Efficient Communication and Secure Federated Recommendation System via Low-rank
Training (WWW 2024), CoLR.

The table is Q + A B. The server draws an orthonormal B (r, d) anew in every round, scaled by sqrt(d / r).
Clients train A (items, r) from zero and send its touched rows and which these are. The server adds the mean A
of each item times B. Both are sums. B is public here and travels with the model; the mask is a column.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.preset import Preset
from murmura.core.arrays import Ints
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
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Count, NonNegative, Positive, settings
from murmura.core.update import SparseRows, Update
from murmura.lab.rivals.federated.samples import SampledRival, bce_slope


@settings
class CoLR(SampledRival):
    """A private vector; updates of the item table of rank r."""

    name: ClassVar[str] = "colr"

    factors: Count = 64
    rank: Count = 16  # r
    rate: Positive = 0.5  # of both, on the sum of slopes of a batch over the frequency of a row
    decay: NonNegative = 5e-4  # how strongly the vector and A are drawn to 0
    local_epochs: Count = 2  # passes over its samples in a visit
    spread: NonNegative = 0.125  # 1 / sqrt(d)

    @property
    def width(self) -> int:
        """r numbers, and one that says who sent the row."""
        return self.rank + 1

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """The table and the B of the next round."""
        B = TableSpec("B", "dense", self.rank, self.factors, self.precision)
        return MessageSpec((*super().publishes(info).tables, B))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Normals, and the first B."""
        model = dict(super().server_init(info, rng).model)
        return ServerState({**model, "B": self._basis(0)}, {"round": np.zeros(1, np.int64)})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """A vector of one's own."""
        return {"p": self.own_vector(rng, self.spread)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """Local epochs; the rows of A that were touched leave, each with a one."""
        p, A, touched = self._tuned(context, state["p"], history, self.shared_items(history, rng), rng)
        sent = np.column_stack([A[touched], np.ones(len(touched), A.dtype)])
        return {"p": p}, Update({"items": SparseRows(touched, sent)})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Q += (sum of A / senders) B, and a new B."""
        assert isinstance(received, Total)
        Q, sent = server.model["Q"].copy(), received.update.tables["items"]
        mean = sent.values[:, :-1] / np.maximum(sent.values[:, -1:], 1)
        Q[sent.index] += (mean @ server.model["B"]).astype(Q.dtype)
        round = server.private["round"] + 1
        return ServerState({"Q": Q, "B": self._basis(int(round[0]))}, {"round": round}), {}

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """Scores by the shared table."""
        return {"scores": context.model["Q"] @ state["p"]}

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """A vector learned on the frozen table."""
        p = self.own_vector(rng, self.spread)
        for epoch in range(50 * self.local_epochs):
            samples = self.draw(context.info, self.avoided(history), history.item, rng, epoch)
            for i, y in samples.batches(self.batch):
                rows = context.model["Q"][i]
                p = p - self.rate * (bce_slope(rows @ p, y) @ rows / len(i) + self.decay * p)
        return {"scores": context.model["Q"] @ p}

    def _tuned(
        self, context: RoundContext, p: NDArray[Any], history: History, shared: Ints, rng: Rng
    ) -> tuple[NDArray[Any], NDArray[Any], Ints]:
        Q, B = context.model["Q"], context.model["B"]
        A, avoided = np.zeros((len(Q), self.rank), Q.dtype), self.avoided(history)
        touched = [np.zeros(0, np.int32)]
        for epoch in range(self.local_epochs):
            samples = self.draw(context.info, avoided, shared, rng, epoch)
            touched.append(samples.item)
            for i, y in samples.batches(self.batch):
                rows, place, many = np.unique(i, return_inverse=True, return_counts=True)
                T = Q[rows] + A[rows] @ B
                slope = bce_slope((T @ p)[place], y)
                lift = np.sqrt(self.rank / self.factors) * (B @ p)
                climb = (np.bincount(place, slope) / many)[:, None] * lift + self.decay * A[rows]
                dp = slope @ T[place] / len(i) + self.decay * p
                A[rows] -= (self.rate * climb).astype(A.dtype)
                p = (p - self.rate * dp).astype(Q.dtype)
        return p, A, np.unique(np.concatenate(touched)).astype(np.int32)

    def _basis(self, round: int) -> NDArray[Any]:
        """(r, d) orthonormal rows from public randomness, scaled."""
        draws = Rng(np.zeros(2, np.uint32), round).stream(Purpose.SKETCH).normals(self.rank * self.factors)
        basis, _ = np.linalg.qr(draws.reshape(self.factors, self.rank))
        return np.ascontiguousarray(basis.T * np.sqrt(self.factors / self.rank)).astype(self.precision)


COLR = Preset(
    "colr",
    CoLR,
    "CoLR: updates of the item table of a low rank, from a basis that changes every round.",
    {"clients": 60, "rounds_per_epoch": 50, "epochs": 20},
)
