"""Singhal et al.: Federated Reconstruction: Partially Local Federated Learning (NeurIPS 2021), FedRecon.

A client keeps nothing. Each visit rebuilds its vector from a fresh start with the item table frozen, then takes
steps on the item table with the vector frozen; a new person is answered in the same way. The server takes the
mean change weighted by examples. Here the samples are own items and drawn negatives under BCE, as in the tables
of the other rivals; the paper has ratings. With `split` the two halves of a visit use disjoint own rows.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.preset import Preset
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
from murmura.core.message import MessageSpec
from murmura.core.rng import Rng
from murmura.core.settings import Count, NonNegative, Positive, settings
from murmura.core.update import SparseRows, Update
from murmura.lab.rivals.federated.samples import LabelledItems, SampledRival, bce_slope


@settings
class FedRecon(SampledRival):
    """The private vector is rebuilt in every visit."""

    name: ClassVar[str] = "fedrecon"

    factors: Count = 50
    batch: Count = 32  # the paper's 5 are of ratings
    rate: Positive = 0.5  # of the vector
    item_rate: Positive = 5.0  # of the item table
    rebuild: Count = 5  # epochs for the vector
    steps: Count = 50  # of either kind at most
    split: bool = False  # disjoint rows for vector and table
    spread: NonNegative = 0.1

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of changed rows, and of how many examples they are of."""
        (phase,) = super().phases(info)
        return (Phase(phase.name, MessageSpec(phase.sends.tables, ("examples",))),)

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """Nothing is kept."""
        return {}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """Rebuild the vector, then step on the rows; their change leaves, times the number of examples."""
        samples = self.draw(context.info, self.avoided(history), self.shared_items(history, rng), rng)
        half = len(samples.item) // 2 if self.split else 0
        first = LabelledItems(samples.item[: half or None], samples.label[: half or None])
        rest = LabelledItems(samples.item[half:], samples.label[half:])
        Q = context.model["Q"]
        p, T = self._rebuilt(Q, first, rng), Q.copy()
        for _, (i, y) in zip(range(self.steps), rest.batches(self.batch)):
            slope = bce_slope(T[i] @ p, y) / len(i)
            np.subtract.at(T, i, (self.item_rate * slope[:, None] * p).astype(T.dtype))
        touched = np.unique(rest.item[: self.steps * self.batch]).astype(np.int32)
        many = len(rest.item)
        return {}, Update({"items": SparseRows(touched, many * (T - Q)[touched])}, {"examples": float(many)})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The mean change, weighted by examples."""
        assert isinstance(received, Total)
        Q, sent = server.model["Q"].copy(), received.update.tables["items"]
        Q[sent.index] += (sent.values / max(received.update.scalars["examples"], 1.0)).astype(Q.dtype)
        return ServerState({"Q": Q}), {}

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """The vector is rebuilt from all own rows."""
        samples, Q = self.draw(context.info, self.avoided(history), history.item, rng), context.model["Q"]
        return {"scores": Q @ self._rebuilt(Q, samples, rng)}

    def _rebuilt(self, Q: NDArray[Any], samples: LabelledItems, rng: Rng) -> NDArray[Any]:
        p, done = self.own_vector(rng, self.spread), 0
        for _ in range(self.rebuild):
            for i, y in samples.batches(self.batch):
                if done < self.steps:
                    rows, done = Q[i], done + 1
                    p = (p - self.rate * bce_slope(rows @ p, y) @ rows / len(i)).astype(Q.dtype)
        return p


FEDRECON = Preset(
    "fedrecon",
    FedRecon,
    "FedRecon: clients keep nothing and rebuild their vector in every visit.",
    {"clients": 100, "rounds_per_epoch": 25, "epochs": 20},
)
