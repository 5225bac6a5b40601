"""Zhang, Long, Zhou, Yan, Zhang, Zhang and Yang: Dual Personalization on Federated Recommendation (IJCAI 2023).

Score sigma(w_u . q_i + b_u). A client keeps its head (w_u, b_u), tunes the received item table on its own items
and drawn negatives, and ranks with the table so tuned; the server takes the plain mean of the tables. That is
the table plus the mean of what changed, so the rows that changed are sent, and a secure sum carries them. The
step of the table is rate x items x item_factor, as in the authors' code; the paper does not give it.

With `ranks_with="server"` and no bias this is what these papers compare with as FedMF: a private vector, a
shared table, binary cross-entropy. Every client keeps then a vector of its own beginning.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.preset import Preset
from murmura.core.arrays import Ints
from murmura.core.client_batch import BatchRows, BatchUpdate, ClientBatch
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
from murmura.core.settings import Positive, settings
from murmura.core.update import Arrays, SparseRows, Update
from murmura.lab.rivals.federated.loops import HeadClients, HeadSteps, visit_heads
from murmura.lab.rivals.federated.samples import NEGATIVES, SPARED, SampledRival, bce_slope

States = dict[str, NDArray[Any]]


@settings
class PFedRec(SampledRival):
    """A private head and an own copy of the item table, tuned on the device."""

    name: ClassVar[str] = "pfedrec"

    rate: Positive = 0.1  # of the head
    item_factor: Positive = 80.0  # the table's step is rate x items x this
    bias: bool = True  # whether the head has one
    ranks_with: Literal["own", "server"] = "own"  # the table a client ranks with

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """U(-1/sqrt d, 1/sqrt d): the same for all, or of each where it is a person's vector."""
        same = Rng(np.zeros(2, np.uint32)) if self.ranks_with == "own" else rng
        unit = same.stream(Purpose.INIT).words(self.factors + 1).astype(np.float64) / 2.0**31 - 1.0
        head = (unit / np.sqrt(self.factors)).astype(self.precision)
        spared = np.full(SPARED if self.leak else 0, -1, np.int32)
        found = self.spared(history)[:SPARED]
        spared[: len(found)] = found
        return {"w": head[:-1], "b": np.array(head[-1] if self.bias else 0, self.precision), "spared": spared}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """One epoch over the shared items and their negatives; the change of the touched rows leaves."""
        shared = self.shared_items(history, rng)
        state, T, touched = self._tuned(context, state, history, shared, rng, 1)
        return state, Update({"items": SparseRows(touched, T[touched] - context.model["Q"][touched])})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The mean of the clients' tables: the table and the mean change."""
        assert isinstance(received, Total)
        if self.alone:
            return server, {}
        Q, sent = server.model["Q"].copy(), received.update.tables["items"]
        Q[sent.index] += (sent.values / max(received.count, 1)).astype(Q.dtype)
        return ServerState({"Q": Q}), {}

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """The scores of all items by the tuned table; a table for each client would be large."""
        tuned, T, _ = self._tuned(context, state, history, history.item, rng, self.alone or 1)
        head, table = (tuned, T) if self.ranks_with == "own" else (state, context.model["Q"])
        return {"scores": table @ head["w"] + head["b"]}

    # many clients at once

    def clients_step(
        self, context: RoundContext, states: Arrays, batch: ClientBatch
    ) -> tuple[States, BatchUpdate]:
        """The same for many, compiled."""
        w, b, index, values, _ = self._visits(context, states, batch, batch.coins(), 1)
        return {**states, "w": w, "b": b}, BatchUpdate({"items": BatchRows(index, values)})

    def clients_ready(self, context: RoundContext, states: Arrays, batch: ClientBatch) -> States:
        """The scores of many."""
        if self.ranks_with == "server" and not self.alone:
            return {"scores": states["w"] @ context.model["Q"].T + states["b"][:, None]}
        return {"scores": self._visits(context, states, batch, batch.held, self.alone or 1, scores=True)[-1]}

    def _visits(
        self,
        context: RoundContext,
        states: Arrays,
        batch: ClientBatch,
        learns: Any,
        epochs: int,
        scores: bool = False,
    ) -> tuple[NDArray[Any], ...]:
        Q, info = context.model["Q"], context.info
        w, b = states["w"].copy(), states["b"].copy()
        places = 0 if scores else min(info.items, batch.item.shape[1] * (1 + self.negatives))
        many = 0 if scores else len(batch)
        index, values = np.empty((many, places), np.int32), np.empty((many, places, self.factors), Q.dtype)
        found = np.empty((len(batch) if scores else 0, info.items), Q.dtype)
        clients = HeadClients(batch.secrets, batch.item, learns, batch.length, states["spared"], w, b)
        visit_heads(Q, info.listed, batch.round, clients, self._steps(info, epochs), index, values, found)
        return w, b, index, values, found

    def _steps(self, info: FederationInfo, epochs: int) -> HeadSteps:
        item_rate = self.rate * len(info.listed) * self.item_factor
        return HeadSteps(self.negatives, self.batch, self.rate, item_rate, self.bias, NEGATIVES, epochs)

    def _tuned(
        self, context: RoundContext, state: ClientState, history: History, shared: Ints, rng: Rng, epochs: int
    ) -> tuple[ClientState, NDArray[Any], Ints]:
        """The head and the table after local epochs, and which rows were touched."""
        T, w, b = context.model["Q"].copy(), state["w"], state["b"]
        steps, avoided = self._steps(context.info, epochs), np.union1d(history.item, state["spared"])
        touched = [np.zeros(0, np.int32)]
        for epoch in range(epochs):
            samples = self.draw(context.info, avoided, shared, rng, epoch)
            touched.append(samples.item)
            for i, y in samples.batches(self.batch):
                slope = bce_slope(T[i] @ w + b, y) / len(i)
                w = w - self.rate * slope @ T[i]
                b = b - self.rate * slope.sum() if self.bias else b
                slope = bce_slope(T[i] @ w + b, y) / len(i)
                np.subtract.at(T, i, steps.item_rate * slope[:, None] * w)
        head = {"w": w.astype(T.dtype), "b": np.asarray(b, T.dtype), "spared": state["spared"]}
        return head, T, np.unique(np.concatenate(touched)).astype(np.int32)


PFEDREC = Preset(
    "pfedrec",
    PFedRec,
    "PFedRec: a private head, an item table tuned on each device, the mean of the tables.",
    {"clients": "all", "rounds_per_epoch": 10, "epochs": 10},
)
FEDMF_BCE = Preset(
    "fedmf-bce",
    PFedRec,
    "FedMF with binary cross-entropy, as tables of federated recommenders have it.",
    {"clients": "all", "rounds_per_epoch": 10, "epochs": 10, "bias": False, "ranks_with": "server"},
)
