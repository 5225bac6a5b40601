"""Li, Long and Zhou: Federated Recommendation with Additive Personalization (ICLR 2024).

Score sigma(w_u . (D_u + C)_i + b_u): a head and a whole table of one's own, and a shared table whose copies the
server averages. The loss is BCE - lambda MSE(D, C) + mu mean|C| on the rows of a batch, with weight decay on
everything; steps shrink with every batch and every round, as in the authors' code. Where this departs: an epoch
is not ended early, and the curriculum is left out, which in that code changes numbers that no loss reads.
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
    Phase,
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
class FedRAP(SampledRival):
    """An own table beside the shared one; the shared table travels whole."""

    name: ClassVar[str] = "fedrap"

    batch: Count = 2048
    rate: Positive = 0.5  # of the head
    item_rate: Positive = 200.0  # of both tables
    decay: NonNegative = 1e-4  # of everything
    apart: NonNegative = 0.1  # lambda: how strongly the two tables are pushed apart; unbounded below
    sparse: NonNegative = 0.1  # mu
    local_epochs: Count = 10  # passes over its samples in a visit
    batch_decay: Positive = 0.95  # of the steps, after every batch
    round_decay: Positive = 0.97  # and after every round
    spread: NonNegative = 0.01

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of whole tables: it names no item."""
        rows = TableSpec("items", "dense", info.items, self.factors, self.precision)
        return (Phase("train", MessageSpec((rows,))),)

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """A head and a table that are the same for all."""
        same = Rng(np.zeros(2, np.uint32)).stream(Purpose.INIT)
        unit = same.words(self.factors + 1).astype(np.float64) / 2.0**31 - 1.0
        head = (unit / np.sqrt(self.factors)).astype(self.precision)
        D = (self.spread * same.normals(info.items * self.factors)).reshape(info.items, -1)
        return {"w": head[:-1], "b": head[-1:].copy(), "D": D.astype(self.precision)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """Local epochs on head and both tables; what changed in the shared one leaves."""
        state, C = self._tuned(context, state, history, self.shared_items(history, rng), rng)
        change = C - context.model["Q"]
        return state, Update({"items": SparseRows(np.arange(len(C), dtype=np.int32), change)})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The mean of the clients' tables."""
        assert isinstance(received, Total)
        Q, sent = server.model["Q"].copy(), received.update.tables["items"]
        Q[sent.index] += (sent.values / max(received.count, 1)).astype(Q.dtype)
        return ServerState({"Q": Q}), {}

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """Scores with the tables as the last local epochs leave them."""
        state, C = self._tuned(context, state, history, history.item, rng)
        return {"scores": (state["D"] + C) @ state["w"] + state["b"]}

    def _tuned(
        self, context: RoundContext, state: ClientState, history: History, shared: Ints, rng: Rng
    ) -> tuple[ClientState, NDArray[Any]]:
        samples = self.draw(context.info, self.avoided(history), shared, rng)
        Q, w, b = context.model["Q"], state["w"], state["b"]
        used, at = np.unique(samples.item, return_inverse=True)  # rows that no sample has only decay
        C, D, left = Q[used], state["D"][used], 1.0
        label, shrink = samples.label.astype(Q.dtype), self.round_decay**context.round
        for _ in range(self.local_epochs):
            for first in range(0, len(at), self.batch):
                i, y = at[first : first + self.batch], label[first : first + self.batch]
                n, rate, item_rate = len(i), self.rate * shrink, self.item_rate * shrink
                E = D + C
                slope = bce_slope((E @ w + b)[i], y) / n
                pull = np.bincount(i, slope, len(used)).astype(Q.dtype)
                each = np.bincount(i, minlength=len(used)).astype(Q.dtype)[:, None] / (n * self.factors)
                away = 2 * self.apart * each * (D - C)
                thin = self.sparse * each * np.sign(C)
                decay, drawn = 1 - item_rate * self.decay, pull[:, None] * w
                D = (decay * D - item_rate * (drawn - away)).astype(Q.dtype)
                C = (decay * C - item_rate * (drawn + away + thin)).astype(Q.dtype)
                dw, db = pull @ E + self.decay * w, slope.sum() + self.decay * b
                w, b = (w - rate * dw).astype(Q.dtype), (b - rate * db).astype(Q.dtype)
                shrink, left = shrink * self.batch_decay, left * decay
        shared_table, own = (left * Q).astype(Q.dtype), (left * state["D"]).astype(Q.dtype)
        shared_table[used], own[used] = C, D
        return {"w": w, "b": b, "D": own}, shared_table


FEDRAP = Preset(
    "fedrap",
    FedRAP,
    "FedRAP: an own item table beside a shared one.",
    {"clients": "all", "rounds_per_epoch": 5, "epochs": 20},
)
