"""Zhang, Long, Zhou, Yan, Zhang and Yang: GPFedRec, graph-guided personalization (KDD 2024).

A client keeps its vector and network and sends its whole table in the clear. The server joins clients whose
tables are like each other, tells everyone the mean table of the neighbours, and publishes the mean of these
means. Clients start from the published table and are drawn to their own answer.

In the published code the graph is upside down: it compares a distance where the text has a similarity, so that
the neighbours are the clients least like each other. `neighbours="unlike"` is that code, "alike" the text.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.preset import Preset
from murmura.core.arrays import Bools, Ints
from murmura.core.contract import (
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    IndividualUpdates,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
)
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import NonNegative, Positive, settings
from murmura.core.update import SparseRows, Update
from murmura.lab.rivals.federated.samples import SampledRival, bce_slope
from murmura.lab.rivals.federated.tower import ScoreTower


@settings
class GPFedRec(SampledRival):
    """A table for every client, from the tables of its neighbours."""

    name: ClassVar[str] = "gpfedrec"

    rate: Positive = 0.1  # of the network
    factor: Positive = 80.0  # the vector's step is rate x (this - 1), the table's rate x (items x this - 1)
    pull: NonNegative = 1.0  # how strongly a table is drawn to that of the neighbours
    neighbours: Literal["alike", "unlike"] = "alike"  # alike as in the text, unlike as in the published code

    @property
    def tower(self) -> ScoreTower:
        """64-32-16-8."""
        return ScoreTower.over(self.factors, 0)

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """Whole tables, each of which the server reads."""
        rows = TableSpec("items", "dense", info.items, self.factors, self.precision)
        return (Phase("train", MessageSpec((rows,)), "each"),)

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """A vector of one's own, and a network that begins the same for all."""
        network = self.tower.begin(Rng(np.zeros(2, np.uint32)).stream(Purpose.INIT), self.precision)
        return {"p": self.own_vector(rng, self.spread), "network": network}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """One epoch on vector, network and table; the whole table leaves."""
        state, T = self._tuned(context, state, history, self.shared_items(history, rng), rng)
        return state, Update({"items": SparseRows(np.arange(len(T), dtype=np.int32), T)})

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """Every row that speaks: the server knows the table it began from, and reads what was moved."""
        return rng.stream(Purpose.COINS).coins(history.consent)

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """To each the mean table of its neighbours; the mean of these is published."""
        assert isinstance(received, IndividualUpdates)
        clients = sorted(received.updates)
        tables = np.stack([received.updates[client].tables["items"].values for client in clients])
        flat = tables.reshape(len(clients), -1)
        near = self._graph(flat).astype(flat.dtype)
        means = (near @ flat / near.sum(1, keepdims=True)).reshape(tables.shape)
        answers = {client: {"r": table} for client, table in zip(clients, means)}
        return ServerState({"Q": means.mean(0).astype(tables.dtype)}), answers

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """The scores by the table as one more epoch leaves it."""
        state, T = self._tuned(context, state, history, history.item, rng)
        return {"scores": self.tower.scores(state["network"], state["p"], T)[0]}

    def _graph(self, flat: NDArray[Any]) -> Bools:
        """(clients, clients) whose cosine is on the side of the mean that counts; oneself where nobody is."""
        alike = flat @ flat.T
        length = np.sqrt(np.maximum(np.diag(alike), np.finfo(flat.dtype).tiny))
        alike /= np.outer(length, length)
        above = alike > alike.mean() if self.neighbours == "alike" else alike < alike.mean()
        np.fill_diagonal(above, False)
        np.fill_diagonal(above, ~above.any(1))
        found: Bools = above
        return found

    def _tuned(
        self, context: RoundContext, state: ClientState, history: History, shared: Ints, rng: Rng
    ) -> tuple[ClientState, NDArray[Any]]:
        T, p, network = context.model["Q"].copy(), state["p"], state["network"]
        goal = T.copy() if context.answer is None else np.asarray(context.answer["r"], T.dtype)
        item_rate = self.rate * (len(context.info.listed) * self.factor - 1)
        samples = self.draw(context.info, self.avoided(history), shared, rng)
        for i, y in samples.batches(self.batch):
            rows = T[i]
            logit, tape = self.tower.scores(network, p, rows)
            slope = (bce_slope(logit, y) / len(i)).astype(T.dtype)
            weights, dp, dq = self.tower.slopes(network, p, rows, tape, slope)
            T -= (item_rate * self.pull * 2 / T.size) * (T - goal)
            np.subtract.at(T, i, item_rate * dq)
            p, network = p - self.rate * (self.factor - 1) * dp, network - self.rate * weights
        return {"p": p.astype(T.dtype), "network": network.astype(T.dtype)}, T


GPFEDREC = Preset(
    "gpfedrec",
    GPFedRec,
    "GPFedRec: a table for every client, from those like it; the server reads every table.",
    {"clients": "all", "rounds_per_epoch": 10, "epochs": 10},
)
