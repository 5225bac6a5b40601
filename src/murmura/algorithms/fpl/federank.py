"""Anelli, Deldjoo, Di Noia, Ferrara, Narducci: FedeRank: User Controlled Feedback (ECIR 2021).

The same method as FPL, Federated Pair-wise Learning, in How to Put Users in Control of their Data in Federated
Top-N Recommendation with Learning to Rank (SAC 2021) and in chapter 4 of A. Ferrara's thesis.

The server holds item vectors Q and biases b, a client its own vector p_u; the score is b_i + p_u . q_i. A
visited client draws T triples (u, i, j) of an own item i and an item j it has not, climbs ln sigma(x_ui - x_uj)
and sends the gradients of the item rows; which positives it may send `history.consent` decides alone.

Where text and authors' code differ the code is followed (docs/papers/fpl.md): p_u moves after every triple
while the received model stays frozen (`version="B"`); the papers' equations (1)-(3) keep p_u frozen as well.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from murmura.core.arrays import Ints
from murmura.core.contract import (
    Algorithm,
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
from murmura.core.rng import Purpose, Rng, Stream
from murmura.core.settings import Count, Positive, settings
from murmura.core.update import Arrays, SparseRows, Update

Times = Annotated[int, Field(ge=0)]
Values = NDArray[Any]
SPREAD = 0.1  # p, q and also b start as N(0, 0.1^2), as in the authors' code


@settings
class FedeRank(Algorithm):
    """Federated pair-wise learning of b_i + p_u . q_i."""

    name: ClassVar[str] = "federank"

    factors: Count = 20
    alpha: Positive = 0.05
    triples: Count | Literal["mean", "own"] = 1  # T: a number, floor(X+ / |U|), or the client's own |I_u|
    version: Literal["B", "equations"] = "B"
    fold_in: Times = 20  # local passes of someone unknown in training
    precision: Literal["float32", "float64"] = "float32"

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One repeating sum of gradient rows: of q_i and of b_i."""
        items = TableSpec("items", "item", info.items, self.factors + 1, self.precision)
        return (Phase("train", MessageSpec((items,))),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """Q and b."""
        Q = TableSpec("Q", "item", info.items, self.factors, self.precision)
        return MessageSpec((Q, TableSpec("b", "item", info.items, 1, self.precision)))

    def visit_examples(self, info: FederationInfo) -> float:
        """T; X+ / |U| when it depends on the clients."""
        return self.triples if isinstance(self.triples, int) else info.interactions / info.clients

    def visit_triples(self, info: FederationInfo, rows: int) -> int:
        """T of a client that holds so many rows."""
        if self.triples == "own":
            return rows
        return max(1, info.interactions // info.clients) if self.triples == "mean" else self.triples

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Q and b from N(0, 0.1^2)."""
        draws = SPREAD * rng.stream(Purpose.INIT).normals(info.items * (self.factors + 1))
        theta = draws.reshape(info.items, -1).astype(self.precision)
        return ServerState(split(theta))

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """p_u from N(0, 0.1^2)."""
        p = SPREAD * rng.stream(Purpose.INIT).normals(self.factors)
        return {"p": p.astype(self.precision)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """p_u learns from T triples; the rows of the negatives and of the shared positives leave."""
        T = self.visit_triples(context.info, len(history))
        triples = draw_triples(context.info.listed, history.item, T, rng.stream(Purpose.TRIPLES))
        shared = rng.stream(Purpose.COINS).coins(history.consent[triples[:, 0]])
        positives, negatives = history.item[triples[:, 0]], triples[:, 1]
        p, rows, gradients = self._climb(context.model, state["p"], positives, negatives, shared)
        return {"p": p}, Update({"items": SparseRows.of(rows, gradients)})

    def _climb(
        self, model: Arrays, p: Values, positives: Ints, negatives: Ints, shared: NDArray[np.bool_]
    ) -> tuple[Values, Ints, Values]:
        """Eq. (1)-(5): p_u after all triples, and the rows that leave with their gradients, one by one."""
        Q, b = model["Q"], model["b"]
        alpha, lambda_u, lambda_i, lambda_j = self.rates()
        p_new = p
        rows, gradients = [], []
        for i, j, send in zip(positives, negatives, shared):
            g = _sigmoid_of_minus(b[i] + p @ Q[i] - b[j] - p @ Q[j])
            # d ln sigma(x_ui - x_uj) - lambda |theta|^2, all at the p_u before this triple
            if send:
                rows.append(i)
                gradients.append(np.append(g * p - lambda_i * Q[i], g))
            rows.append(j)
            gradients.append(np.append(-g * p - lambda_j * Q[j], -g))
            p_new = p_new + alpha * (g * (Q[i] - Q[j]) - lambda_u * p)
            p = p_new if self.version == "B" else p
        values = np.array(gradients, self.precision).reshape(len(rows), self.factors + 1)
        return p_new, np.array(rows, np.int32), values

    def client_negatives(self, info: FederationInfo, history: History, rng: Rng) -> Ints:
        """The negatives of one visit, as `client_step` draws them: for the check for leaks; nothing leaves."""
        T = self.visit_triples(info, len(history))
        return draw_triples(info.listed, history.item, T, rng.stream(Purpose.TRIPLES))[:, 1]

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Eq. (6): theta + alpha times the sum."""
        assert isinstance(received, Total)
        sent, theta = received.update.tables["items"], join(server.model)
        theta[sent.index] += self.alpha * sent.values
        return ServerState(split(theta)), {}

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """A new p_u, climbed over the frozen model; without any item zero, which leaves the biases."""
        if not len(history):
            return {"p": np.zeros(self.factors, self.precision)}
        start = self.client_init(context.info, history, rng)["p"]
        return {"p": self.local_passes(context, start, history, rng.stream(Purpose.FOLD_IN), self.fold_in)}

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Values:
        """b_i + p_u . q_i of every item."""
        model = context.model
        scores: Values = state["p"][None, :] @ model["Q"].T + model["b"]
        return scores

    def rates(self) -> tuple[float, float, float, float]:
        """alpha, and the regularisation of p_u, q_i and q_j: alpha / 20, alpha / 20 and alpha / 200."""
        return self.alpha, self.alpha / 20, self.alpha / 20, self.alpha / 200

    def local_passes(
        self, context: RoundContext, p: Values, history: History, stream: Stream, passes: int
    ) -> Values:
        """p_u after `passes` times |I_u| triples over a model that stays as it is."""
        alpha, lambda_u, _, _ = self.rates()
        Q, b = context.model["Q"], context.model["b"]
        for k, j in draw_triples(context.info.listed, history.item, passes * len(history), stream):
            i = history.item[k]
            g = _sigmoid_of_minus(b[i] + p @ Q[i] - b[j] - p @ Q[j])
            p = p + alpha * (g * (Q[i] - Q[j]) - lambda_u * p)
        return p


def draw_triples(listed: Ints, own: Ints, n: int, stream: Stream) -> Ints:
    """n draws with replacement of (place among the own items, an item on offer that is not own): (n, 2).

    Nothing for someone who has no item, or every item.
    """
    mine = set(own.tolist())
    if not mine or mine.issuperset(listed.tolist()):
        n = 0
    triples = np.empty((n, 2), np.int32)
    for t in range(n):
        triples[t, 0] = stream.below(len(own))
        triples[t, 1] = listed[stream.below(len(listed))]
        while triples[t, 1] in mine:
            triples[t, 1] = listed[stream.below(len(listed))]
    return triples


def _sigmoid_of_minus(x: Any) -> Any:
    with np.errstate(over="ignore"):  # exp of a large margin is inf, and the gradient 0
        return 1.0 / (1.0 + np.exp(x))


def split(theta: Values) -> dict[str, Values]:
    """Q and b of the rows (q_i, b_i)."""
    return {"Q": np.ascontiguousarray(theta[:, :-1]), "b": np.ascontiguousarray(theta[:, -1])}


def join(model: Arrays) -> Values:
    """The rows (q_i, b_i) of Q and b."""
    return np.column_stack([model["Q"], model["b"]])
