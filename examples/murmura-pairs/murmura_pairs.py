"""Item pairs: how often two items are liked by the same person, from one sum over clients."""

from typing import Any, ClassVar

import numpy as np

from murmura.federated import (
    Algorithm,
    Answers,
    RoundContext,
    ClientState,
    MessageSpec,
    History,
    IndividualUpdates,
    Phase,
    FederationInfo,
)
from murmura.federated import Purpose, Rng, ServerState, SparseRows, TableSpec, Total, Update, settings


@settings
class Pairs(Algorithm):
    """score of j = sum over own i of pairs(i, j) / sqrt(pairs(i, i) pairs(j, j)), with a damping term."""

    name: ClassVar[str] = "pairs"
    releases_pairs: ClassVar[bool] = True  # so that it is served with --exact only
    damping: float = 1.0

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        rows = TableSpec("pairs", "item", info.items, info.items, "float64", bound=1.0)
        return (Phase("pairs", MessageSpec((rows,)), repeat=1),)  # one sum, with every client

    def publishes(self, info: FederationInfo) -> MessageSpec:
        return MessageSpec((TableSpec("pairs", "item", info.items, info.items, "float64"),))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        return ServerState({"pairs": np.zeros((info.items, info.items))})

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        return {}  # nothing to keep: the history is on the device anyway

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        shared = history.item[rng.stream(Purpose.COINS).coins(history.consent)]  # consent: one coin per use
        rows = np.zeros((len(shared), context.info.items))
        rows[:, shared] = 1.0
        return state, Update({"pairs": SparseRows(shared, rows)})

    def server_step(
        self, phase: str, server: ServerState, received: Total | IndividualUpdates
    ) -> tuple[ServerState, Answers]:
        assert isinstance(received, Total)
        pairs, sent = server.model["pairs"].copy(), received.update.tables["pairs"]
        pairs[sent.index] += sent.values
        return ServerState({"pairs": pairs}), {}

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Any:
        pairs, size = context.model["pairs"], np.sqrt(np.diag(context.model["pairs"]) + self.damping)
        return (pairs[history.item] / size[history.item, None]).sum(0, keepdims=True) / size
