"""McMahan, Moore, Ramage, Hampson, Agüera y Arcas: Communication-efficient learning of deep networks from
decentralized data (AISTATS 2017).

The server holds the parameters Theta of a network. A client of a round takes E epochs of gradient descent on
its own samples from Theta and sends Theta_u - Theta; the server moves by the mean of what it gets. FedAvg
weights that mean by the number of samples: the criterion `dataset_size` of `murmura.aggregation`, which the
preset `fedavg` has by default.

The network is that of chapter 5 of A. Ferrara's thesis; where its text and the authors' code differ, see
docs/papers/client-aware.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.preset import Preset
from murmura.core.arrays import Floats, Longs
from murmura.core.contract import (
    Algorithm,
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    Phase,
    Received,
    RoundContext,
    Samples,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import DataError, DivergenceError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Count, Positive, settings
from murmura.core.update import SparseRows, Update
from murmura.lab.classification.classifier_layout import ClassifierLayout
from murmura.lab.neural import require_torch

Units = Count | Literal[0]


@settings
class FederatedAveraging(Algorithm):
    """A convolutional classifier, averaged over its clients."""

    name: ClassVar[str] = "fedavg"
    holds = "samples"

    filters: tuple[Count, ...] = (32, 64)  # of each convolution; (): none
    filter_size: Count = 5  # width and height of a filter
    hidden: Units = 512  # units of the dense layer; 0: none
    convolutions: Literal["linear", "relu"] = "linear"  # linear in the authors' code; McMahan et al.: relu
    local_epochs: Count = 5  # passes of a client over its samples in a round
    batch: Count | None = None  # samples of one step; None: all of a client's
    learning_rate: Positive = 0.1  # of a client's steps

    def layout(self, info: FederationInfo) -> ClassifierLayout:
        """The network for the samples of this federation."""
        if info.task is None:
            raise DataError(
                f"{self.name} classifies samples with labels, but the clients here hold items they met; take a "
                "data set such as mnist."
            )
        return ClassifierLayout(
            info.task, self.filters, self.filter_size, self.hidden, self.convolutions == "relu"
        )

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One repeating sum of parameters: where a client's training moved them."""
        return (Phase("train", self.publishes(info)),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """A kernel and a bias per layer."""
        return MessageSpec(tuple(
            TableSpec(f"{layer.name}_{part}", "dense", layer.units, width)
            for layer in self.layout(info).layers
            for part, width in (("kernel", layer.fan_in), ("bias", 1))
        ))  # fmt: skip

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Kernels from Glorot's normal distribution, biases zero."""
        stream, model = rng.stream(Purpose.INIT), {}
        for layer in self.layout(info).layers:
            spread = (2 / (layer.fan_in + layer.fan_out)) ** 0.5
            drawn = spread * stream.normals(layer.units * layer.fan_in)
            model[f"{layer.name}_kernel"] = drawn.reshape(layer.units, -1).astype(np.float32)
            model[f"{layer.name}_bias"] = np.zeros((layer.units, 1), np.float32)
        return ServerState(model)

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """A client keeps nothing but its samples."""
        return {}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """Eq. 5.2: epochs of gradient descent on the samples its owner lends; how far they led leaves."""
        require_torch(self.name)
        from murmura.lab.classification.classifier import descend

        own = samples_of(history)
        own = own.rows(rng.stream(Purpose.COINS).coins(own.consent))
        batches = self._batches(len(own), rng)
        moved = descend(
            self.layout(context.info), context.model, own.inputs, own.label, batches, self.learning_rate
        )
        if not all(np.isfinite(table).all() for table in moved.values()):
            raise DivergenceError(
                f"learning_rate must keep the network finite, but {self.learning_rate:g} lost it in round "
                f"{context.round}; lower it."
            )
        return state, Update({name: _whole(moved[name] - context.model[name]) for name in moved})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Eq. 5.3: the parameters move by the mean."""
        assert isinstance(received, Total)
        sent, n = received.update.tables, np.float32(received.count)
        return ServerState({name: table + sent[name].values / n for name, table in server.model.items()}), {}

    def client_predict(self, context: RoundContext, state: ClientState, queries: NDArray[Any]) -> Floats:
        """The label of each sample."""
        from murmura.lab.classification.classifier import answer

        return answer(self.layout(context.info), context.model, queries).astype(np.float64)

    def client_quality(
        self, context: RoundContext, state: ClientState, history: History
    ) -> tuple[float, float]:
        """How many of the samples it lends the received model gets right."""
        own = history.rows(history.consent > 0)
        right = self.client_predict(context, state, samples_of(own).inputs) == own.value
        return float(right.sum()), float(len(own))

    def _batches(self, n: int, rng: Rng) -> Iterator[Longs]:
        """The samples of each step: all of them, or batches of a new order in every epoch."""
        stream, size = rng.stream(Purpose.BATCHES), self.batch or n
        for _ in range(self.local_epochs if n else 0):
            order = np.arange(n) if size >= n else np.argsort(stream.words(n), kind="stable")
            yield from (order[first : first + size] for first in range(0, n, size))


def samples_of(history: History) -> Samples:
    """The samples a client of a classifier holds."""
    assert isinstance(history, Samples)  # a plan refuses other data for a classifier
    return history


def _whole(values: NDArray[Any]) -> SparseRows:
    """Every row of a dense table."""
    return SparseRows(np.arange(len(values), dtype=np.int32), values)


FEDAVG = Preset(  # ten clients a round, as the thesis has them of a hundred
    "fedavg",
    FederatedAveraging,
    "fedavg: a convolutional classifier, averaged over clients by the number of their samples.",
    {"clients": 0.1, "rounds_per_epoch": 1, "epochs": 100, "criteria": ("dataset_size",)},
)
