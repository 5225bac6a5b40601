"""Perifanis and Efraimidis: Federated Neural Collaborative Filtering (Knowledge-Based Systems, 2022), FedNCF.

NeuMF of which a client keeps the person's vector; items and network are shared. MF-SecAvg: an item's row
becomes the mean over the clients that updated it, the network the mean over all. Both are sums. No code of the
authors was found; Adam begins anew in every visit.
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
from murmura.lab.rivals.federated.tower import ScoreTower

FORGET, FORGET_SQUARES, TINY = 0.9, 0.999, 1e-8  # Adam's
FOLD_IN = 10  # times the local epochs, for a person on the frozen model


@settings
class FedNCF(SampledRival):
    """A private vector; the item table and the network of NeuMF are shared."""

    name: ClassVar[str] = "fedncf"

    factors: Count = 40  # of an item: a fifth for the product, the others for the network
    batch: Count = 64
    rate: Positive = 0.001  # of Adam's steps
    local_epochs: Count = 2  # passes over its samples in a visit
    spread: NonNegative = 0.01

    @property
    def tower(self) -> ScoreTower:
        """64-32-16-8 beside 8 products."""
        return ScoreTower.over(self.factors, self.factors // 5)

    @property
    def width(self) -> int:
        """An item's numbers, and one that says who sent the row."""
        return self.factors + 1

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of changed rows and of the network's change."""
        (phase,) = super().phases(info)
        return (Phase(phase.name, MessageSpec((*phase.sends.tables, self._network()))),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """Both."""
        return MessageSpec((*super().publishes(info).tables, self._network()))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Small normals, and the network."""
        network = self.tower.begin(Rng(np.zeros(2, np.uint32)).stream(Purpose.INIT), self.precision)
        return ServerState({**super().server_init(info, rng).model, "network": network[None]})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """A vector of one's own."""
        return {"p": self.own_vector(rng, self.spread)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """Local epochs on all three; what changed in rows and network leaves."""
        shared, epochs = self.shared_items(history, rng), self.local_epochs
        p, touched, rows, network = self._tuned(context, state["p"], history, shared, rng, epochs)
        sent = np.column_stack([rows - context.model["Q"][touched], np.ones(len(touched), rows.dtype)])
        change = SparseRows(np.zeros(1, np.int32), (network - context.model["network"][0])[None])
        return {"p": p}, Update({"items": SparseRows(touched, sent), "network": change})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Every row by its senders' mean, the network by everyone's."""
        assert isinstance(received, Total)
        Q, sent = server.model["Q"].copy(), received.update.tables["items"]
        Q[sent.index] += (sent.values[:, :-1] / np.maximum(sent.values[:, -1:], 1)).astype(Q.dtype)
        change = received.update.tables["network"].values / max(received.count, 1)
        return ServerState({"Q": Q, "network": (server.model["network"] + change).astype(Q.dtype)}), {}

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """Scores by the shared model."""
        network, Q = context.model["network"][0], context.model["Q"]
        return {"scores": self.tower.scores(network, state["p"], Q)[0]}

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """A vector learned on the frozen model."""
        p, epochs = self.own_vector(rng, self.spread), FOLD_IN * self.local_epochs
        tuned, *_ = self._tuned(context, p, history, history.item, rng, epochs, frozen=True)
        return self.client_ready(context, {"p": tuned}, history, rng)

    def _network(self) -> TableSpec:
        return TableSpec("network", "dense", 1, self.tower.weights, self.precision)

    def _tuned(
        self,
        context: RoundContext,
        p: NDArray[Any],
        history: History,
        shared: Ints,
        rng: Rng,
        epochs: int,
        frozen: bool = False,
    ) -> tuple[NDArray[Any], Ints, NDArray[Any], NDArray[Any]]:
        """The vector, which rows were touched, these rows and the network, by Adam on what is not frozen."""
        avoided = self.avoided(history)
        drawn = [self.draw(context.info, avoided, shared, rng, epoch) for epoch in range(epochs)]
        used = np.unique(np.concatenate([samples.item for samples in drawn])).astype(np.int32)
        learned = [p, context.model["Q"][used], context.model["network"][0]]
        moments = [(np.zeros_like(one), np.zeros_like(one)) for one in learned]
        steps = 0
        for samples in drawn:
            for i, y in samples.batches(self.batch):
                place, steps = np.searchsorted(used, i), steps + 1
                rows = learned[1][place]
                logit, tape = self.tower.scores(learned[2], learned[0], rows)
                slope = (bce_slope(logit, y) / len(i)).astype(p.dtype)
                weights, dp, each = self.tower.slopes(learned[2], learned[0], rows, tape, slope)
                dq = np.zeros_like(learned[1])
                np.add.at(dq, place, each)
                for n, climb in enumerate((dp,) if frozen else (dp, dq, weights)):
                    mean = FORGET * moments[n][0] + (1 - FORGET) * climb
                    square = FORGET_SQUARES * moments[n][1] + (1 - FORGET_SQUARES) * climb * climb
                    size = np.sqrt(square / (1 - FORGET_SQUARES**steps)) + TINY
                    learned[n] = learned[n] - self.rate * (mean / (1 - FORGET**steps) / size).astype(p.dtype)
                    moments[n] = mean, square
        return learned[0].astype(p.dtype), used, learned[1].astype(p.dtype), learned[2].astype(p.dtype)


FEDNCF = Preset(
    "fedncf",
    FedNCF,
    "FedNCF: NeuMF with a private vector, a shared item table and a shared network.",
    {"clients": 100, "rounds_per_epoch": 20, "epochs": 20},
)
