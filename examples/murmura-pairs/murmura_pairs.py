"""Item pairs: how often two items are liked by the same person, from one sum over clients."""

from typing import Any, ClassVar

import numpy as np

from murmura.federated import Algorithm, Answers, Call, ClientState, Disclosure, History, Letters, Phase, Public
from murmura.federated import Purpose, Rng, ServerState, SparseRows, Table, Total, Update, settings


@settings
class Pairs(Algorithm):
    """score of j = sum over own i of pairs(i, j) / sqrt(pairs(i, i) pairs(j, j)), with a damping term."""

    name: ClassVar[str] = "pairs"

    damping: float = 1.0

    def phases(self, public: Public) -> tuple[Phase, ...]:
        rows = Table("pairs", "item", public.items, public.items, "float64", bound=1.0)
        return (Phase("pairs", Disclosure((rows,)), repeat=1),)  # one sum, with every client

    def publishes(self, public: Public) -> Disclosure:
        return Disclosure((Table("pairs", "item", public.items, public.items, "float64"),))

    def server_init(self, public: Public, rng: Rng) -> ServerState:
        return ServerState({"pairs": np.zeros((public.items, public.items))})

    def client_init(self, public: Public, history: History, rng: Rng) -> ClientState:
        return {}  # nothing to keep: the history is on the device anyway

    def client_step(
        self, call: Call, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        shared = history.item[rng.stream(Purpose.COINS).coins(history.share)]  # consent: one coin per use
        rows = np.zeros((len(shared), call.public.items))
        rows[:, shared] = 1.0
        return state, Update({"pairs": SparseRows(shared, rows)})

    def server_step(
        self, phase: str, server: ServerState, inbox: Total | Letters
    ) -> tuple[ServerState, Answers]:
        assert isinstance(inbox, Total)
        pairs, sent = server.model["pairs"].copy(), inbox.update.tables["pairs"]
        pairs[sent.index] += sent.values
        return ServerState({"pairs": pairs}), {}

    def client_score(self, model: Any, state: ClientState, history: History) -> Any:
        pairs, size = model["pairs"], np.sqrt(np.diag(model["pairs"]) + self.damping)
        return (pairs[history.item] / size[history.item, None]).sum(0, keepdims=True) / size
