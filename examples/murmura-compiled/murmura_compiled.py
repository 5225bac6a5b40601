"""Item vectors that people's likes pull together: a step that reads like the idea, batched, compiled."""

from typing import Any, ClassVar

import numpy as np

import murmura.federated as mf


@mf.settings
class Pull(mf.Algorithm):
    """score of j = p . q_j, p the mean vector of the own items; a round pulls own items towards p . q = 1."""

    name: ClassVar[str] = "pull"
    factors: int = 8
    rate: float = 0.5

    def phases(self, info: mf.FederationInfo) -> tuple[mf.Phase, ...]:
        items = mf.TableSpec("items", "item", info.items, self.factors, "float64")
        return (mf.Phase("train", mf.MessageSpec((items,))),)

    def publishes(self, info: mf.FederationInfo) -> mf.MessageSpec:
        return mf.MessageSpec((mf.TableSpec("Q", "item", info.items, self.factors, "float64"),))

    def server_init(self, info: mf.FederationInfo, rng: mf.Rng) -> mf.ServerState:
        draws = 0.1 * rng.stream(mf.Purpose.INIT).normals(info.items * self.factors)
        return mf.ServerState({"Q": draws.reshape(info.items, -1)})

    def client_init(self, info: mf.FederationInfo, history: mf.History, rng: mf.Rng) -> mf.ClientState:
        return {}

    def client_step(
        self, context: mf.RoundContext, state: mf.ClientState, history: mf.History, rng: mf.Rng
    ) -> tuple[mf.ClientState, mf.Update]:
        shared = history.item[rng.stream(mf.Purpose.COINS).coins(history.consent)]
        Q, p = context.model["Q"], mean_vector(context.model["Q"], history.item)
        return state, mf.Update({"items": mf.SparseRows(shared, (1 - Q[shared] @ p)[:, None] * p)})

    def clients_step(
        self, context: mf.RoundContext, states: mf.States, batch: mf.ClientBatch
    ) -> tuple[mf.States, mf.BatchUpdate]:
        rows = context.model["Q"][batch.item]  # (clients, longest, factors)
        p = (rows * batch.held[..., None]).sum(1) / np.maximum(batch.length, 1)[:, None]
        errors = 1 - (rows * p[:, None]).sum(-1)
        sent = mf.BatchRows(batch.shared_items(), errors[..., None] * p[:, None])
        return states, mf.BatchUpdate({"items": sent})

    def server_step(self, phase: str, server: mf.ServerState, received: Any) -> tuple[mf.ServerState, Any]:
        Q, sent = server.model["Q"].copy(), received.update.tables["items"]
        Q[sent.index] += self.rate / received.count * sent.values
        return mf.ServerState({"Q": Q}), {}

    def client_score(self, context: mf.RoundContext, state: mf.ClientState, history: mf.History) -> Any:
        return (context.model["Q"] @ mean_vector(context.model["Q"], history.item))[None]

    def kernel(self) -> mf.Kernel:
        return PullKernel(self)


class PullKernel(mf.CohortKernel[Pull]):
    """The same step for many clients."""

    def send(self, cohort: mf.CohortRound, states: mf.States, scratch: Any, block: mf.ClientBlock) -> None:
        send_pulls(cohort.model["Q"], block)


@mf.compiled
def mean_vector(Q: Any, own: mf.Ints) -> Any:
    return Q[own].sum(0) / max(len(own), 1)


@mf.compiled
def send_pulls(Q: Any, block: mf.ClientBlock) -> None:
    start, item = block.people.start, block.people.item
    for place in range(len(block.clients)):
        u = block.clients[place]
        p, shared = mean_vector(Q, item[start[u] : start[u + 1]]), mf.shared_items(place, block)
        errors = 1 - (Q[shared] * p).sum(1)
        mf.send_rows(place, shared, errors.reshape(-1, 1) * p, block)
