"""A stranger's classifier without torch: softmax regression, the mean of the clients' models."""

from typing import Any, ClassVar, Literal

import numpy as np

from murmura.federated import (
    Algorithm,
    Answers,
    ClientState,
    FederationInfo,
    Floats,
    History,
    IndividualUpdates,
    MessageSpec,
    Phase,
    Purpose,
    Rng,
    RoundContext,
    Samples,
    ServerState,
    SparseRows,
    TableSpec,
    Total,
    Update,
    settings,
)


@settings
class Softmax(Algorithm):
    """P(label c of x) ~ exp(W_c x); every client takes some full-batch steps, the server the mean of them."""

    name: ClassVar[str] = "softmax"
    holds: ClassVar[Literal["history", "samples"]] = "samples"

    rate: float = 0.5
    steps: int = 3

    def publishes(self, info: FederationInfo) -> MessageSpec:
        assert info.task is not None
        width = int(np.prod(info.task.shape)) + 1
        return MessageSpec((TableSpec("W", "dense", info.task.classes, width, "float64"),))

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        return (Phase("average", self.publishes(info)),)

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        (table,) = self.publishes(info).tables
        return ServerState({"W": np.zeros((table.rows, table.width))})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        return {}

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        assert isinstance(history, Samples)
        used = rng.stream(Purpose.COINS).coins(history.consent)
        x, W = features(history.inputs[used]), context.model["W"]
        truth = np.eye(len(W))[history.label[used]]
        learned = W.copy()
        for _ in range(self.steps if len(x) else 0):
            learned -= self.rate * (likely(x, learned) - truth).T @ x / len(x)
        return state, Update({"W": SparseRows(np.arange(len(W), dtype=np.int32), learned - W)})

    def server_step(
        self, phase: str, server: ServerState, received: Total | IndividualUpdates
    ) -> tuple[ServerState, Answers]:
        assert isinstance(received, Total)
        return ServerState({"W": server.model["W"] + received.update.tables["W"].values / received.count}), {}

    def client_predict(self, context: RoundContext, state: ClientState, queries: Any) -> Any:
        return likely(features(queries), context.model["W"]).argmax(axis=1)


def features(inputs: Any) -> Floats:
    """Pixels from 0 to 1, and a one for the bias."""
    flat = inputs.reshape(len(inputs), int(np.prod(inputs.shape[1:]))) / 255.0
    return np.hstack([flat, np.ones((len(flat), 1))])


def likely(x: Floats, W: Floats) -> Floats:
    """(samples, classes) the probability of each label."""
    scores = x @ W.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Floats = weights / weights.sum(axis=1, keepdims=True)
    return found
