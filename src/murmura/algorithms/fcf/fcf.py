"""Ammad-ud-din, Ivannikova, Khan, Oyomno, Fu, Tan, Flanagan: Federated Collaborative Filtering for
Privacy-Preserving Personalized Recommendation System (arXiv 1901.09888, 2019).

The server holds item vectors Q, a client its own vector p_u; the score is p_u . q_i. A visited client solves
its vector in closed form against the received Q (Hu, Koren and Volinsky, ICDM 2008) and sends gradients of item
rows; the server adds them up and steps. p_u never leaves.

`FCF` is the baseline in the tables of FedeRank (ECIR 2021) and FPL (SAC 2021), as their authors' code has it:
confidence 1 and 0, so a client fits and sends its own items alone, and the server takes plain steps.
`FCFPaper` is the paper's: every item counts, with confidence 1 + alpha r where there is an interaction and 1
elsewhere, and the server steps with Adam. docs/papers/fcf.md tells where text, code and this file part.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms import optimisers
from murmura.algorithms.preset import Preset
from murmura.core.arrays import Bools, Floats, Ints, Longs
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
from murmura.core.errors import DataError, FederationError
from murmura.core.kernel import Kernel
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Count, Positive, settings
from murmura.core.update import SparseRows, Update

Values = NDArray[Any]
SPREAD = 0.1  # p and q start as N(0, 0.1^2), as in the authors' code
LARGEST = 1e6  # of an item vector: scores are fitted to 0 and 1, so a training that gets here has gone astray


@settings
class FCF(Algorithm):
    """Own items only, target 1: ridge regression on clients, summed gradients and plain steps on the server."""

    name: ClassVar[str] = "fcf"
    bears_noise: ClassVar[bool] = True

    factors: Count = 20  # length of the vectors
    gamma: Positive = 0.02  # the server's learning rate
    reg: Positive = 1.0  # lambda, of both sides
    refresh: bool = False  # solve p_u once more against the final model before ranking
    precision: Literal["float32", "float64"] = "float32"  # the numbers of the model and of updates

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One repeating sum of gradient rows."""
        return (Phase("train", MessageSpec((self._sends(info),))),)

    def publishes(self, info: FederationInfo) -> MessageSpec:
        """Q."""
        return MessageSpec((TableSpec("Q", "item", info.items, self.factors, self.precision),))

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Q from N(0, 0.1^2)."""
        draws = SPREAD * rng.stream(Purpose.INIT).normals(info.items * self.factors)
        Q = draws.reshape(info.items, self.factors).astype(self.precision)
        return ServerState({"Q": Q}, self._memory(info, Q))

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """p_u from N(0, 0.1^2); the first visit replaces it."""
        p = SPREAD * rng.stream(Purpose.INIT).normals(self.factors)
        return {"p": p.astype(self.precision)}

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """p_u is solved from the whole history; gradients of item rows leave, of positives the shared ones."""
        p = self._solve(context, history)
        shared = rng.stream(Purpose.COINS).coins(history.consent)
        return {"p": p}, Update({"items": self._gradients(context, p, history, shared)})

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """q_i + gamma times the sum - 2 gamma lambda q_i, the decay for every item once a round."""
        assert isinstance(received, Total)
        sent = received.update.tables["items"]
        with np.errstate(over="ignore", invalid="ignore"):
            Q = server.model["Q"] * (1 - 2 * self.gamma * self.reg)
            Q[sent.index] += self.gamma * sent.values
        return ServerState({"Q": self._tame(Q)}, server.private), {}

    def client_ready(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> ClientState:
        """The vector of the last visit, as in the authors' code; with `refresh` it is solved once more."""
        return {"p": self._solve(context, history)} if self.refresh else state

    def client_fold_in(self, context: RoundContext, history: History, rng: Rng) -> ClientState:
        """The closed form, as for everyone; without any item zero."""
        return {"p": self._solve(context, history)}

    def client_score(self, context: RoundContext, state: ClientState, history: History) -> Values:
        """p_u . q_i of every item."""
        scores: Values = state["p"][None, :] @ context.model["Q"].T
        return scores

    def kernel(self) -> Kernel:
        """The compiled twin."""
        from murmura.algorithms.fcf.kernel import FCFKernel

        return FCFKernel(self)

    def _sends(self, info: FederationInfo) -> TableSpec:
        return TableSpec("items", "item", info.items, self.factors, self.precision)

    def _memory(self, info: FederationInfo, Q: Values) -> dict[str, Values]:
        return {}

    def _solve(self, context: RoundContext, history: History) -> Values:
        """p_u; an item that is not on offer has no vector to learn from."""
        here = np.isin(history.item, context.info.listed)
        A, right = self._normal_equations(context, history.item[here], history.value[here])
        p: Values = np.linalg.solve(A + self.reg * np.eye(self.factors), right).astype(self.precision)
        return p

    def _normal_equations(self, context: RoundContext, own: Ints, values: Floats) -> tuple[Floats, Floats]:
        """sum q q' and sum q over the own items."""
        Y = context.model["Q"][own].astype(np.float64)
        return Y.T @ Y, Y.sum(axis=0)

    def _gradients(self, context: RoundContext, p: Values, history: History, shared: Bools) -> SparseRows:
        """2 (1 - p_u . q_i) p_u of the shared items, at the received model."""
        own = history.item[shared]
        errors = 1 - context.model["Q"][own] @ p
        return SparseRows(own, 2 * errors[:, None] * p)

    def _tame(self, Q: Values) -> Values:
        largest = np.abs(Q).max()
        if not largest <= LARGEST:  # nor is nan
            raise FederationError(
                f"the item vectors of {self.name} must stay below {LARGEST:g}, but steps of gamma = "
                f"{self.gamma:g} took one to {largest:.3g}; lower gamma."
            )
        return Q


@settings
class FCFPaper(FCF):
    """All items, confidence 1 + alpha r, Adam on the server; an update is dense over the items on offer.

    Consent in a dense update: a positive that is not shared this time is sent as if it had not been observed
    (confidence 1, target 0), while p_u, which stays, is solved with it.
    """

    name: ClassVar[str] = "fcf-paper"

    gamma: Positive = 0.1
    alpha: Positive = 4.0  # confidence of an interaction of value r: 1 + alpha r
    values: Literal["binary", "raw"] = "binary"  # r: 1, or the value of the interaction
    refresh: bool = True

    def visit_examples(self, info: FederationInfo) -> float:
        """Every item on offer."""
        return float(len(info.listed))

    def client_init(self, info: FederationInfo, history: History, rng: Rng) -> ClientState:
        """p_u from N(0, 0.1^2); refuses a history whose values cannot be confidences."""
        self.check_rows(history.value, history.time)
        return super().client_init(info, history, rng)

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """Adam against dJ/dq_i = -2 sum f(u, i) + 2 lambda q_i; a cohort's sum stands for everyone's."""
        assert isinstance(received, Total)
        Q, listed = server.model["Q"], server.private["listed"]
        part = received.count / int(server.private["clients"][0])
        sums = received.update.tables["items"].values / Q.dtype.type(part)
        climb = 2 * (sums - self.reg * self._beyond_prior(server)[listed])
        moved, memory = optimisers.move("adam", self.gamma, Q, server.private, SparseRows(listed, climb))
        return ServerState({"Q": self._tame(moved)}, memory), {}

    def _beyond_prior(self, server: ServerState) -> Values:
        """What the decay shrinks: the item vectors, whose prior is 0."""
        return server.model["Q"]

    def client_discloses(self, phase: Phase, update: Update, history: History, rng: Rng) -> Bools:
        """The positives sent as positives; their rows alone do not tell, as every item has one."""
        return rng.stream(Purpose.COINS).coins(history.consent)

    def kernel(self) -> Kernel:
        """The compiled twin."""
        from murmura.algorithms.fcf.kernel import FCFPaperKernel

        return FCFPaperKernel(self)

    def check_rows(self, value: Floats, time: Longs | None) -> None:
        """Confidences must be above that of an item never met."""
        if self.values == "raw" and len(value) and value.min() <= 0:
            raise DataError(
                f"fcf-paper.values 'raw' needs values above 0, but one is {value.min():g}; use 'binary'."
            )

    def strength(self, values: Floats) -> Floats:
        """r of interactions with these values."""
        return values if self.values == "raw" else np.ones(len(values))

    def _sends(self, info: FederationInfo) -> TableSpec:
        return TableSpec("items", "dense", len(info.listed), self.factors, self.precision)

    def _memory(self, info: FederationInfo, Q: Values) -> dict[str, Values]:
        clients = np.array([info.clients], np.int64)
        return {**optimisers.begin("adam", Q), "listed": info.listed, "clients": clients}

    def _normal_equations(self, context: RoundContext, own: Ints, values: Floats) -> tuple[Floats, Floats]:
        """sum c q q' = Y'Y + sum alpha r q q' over the own items, and sum c q over the own items."""
        Q = context.model["Q"].astype(np.float64)
        Y, extra = Q[own], self.alpha * self.strength(values)
        everything = Q[context.info.listed]
        return everything.T @ everything + (Y * extra[:, None]).T @ Y, (1 + extra) @ Y

    def _gradients(self, context: RoundContext, p: Values, history: History, shared: Bools) -> SparseRows:
        """f(u, i) = c_ui (x_ui - p_u . q_i) p_u of every item on offer, at the received model."""
        listed = context.info.listed
        scores = context.model["Q"][listed] @ p
        errors = -scores
        own = np.searchsorted(listed, history.item[shared])
        confidence = 1 + self.alpha * self.strength(history.value[shared])
        errors[own] = (confidence * (1 - scores[own])).astype(self.precision)
        return SparseRows(np.arange(len(listed), dtype=np.int32), errors[:, None] * p)


EVERYONE = {"clients": "all", "rounds_per_epoch": 1}

FCF_BASELINE = Preset(
    "fcf",
    FCF,
    "fcf: the baseline in the tables of FedeRank and FPL, as its authors' code computes it.",
    {**EVERYONE, "epochs": 20},
)
FCF_PAPER = Preset(
    "fcf-paper", FCFPaper, "fcf-paper: as its own paper describes it.", {**EVERYONE, "epochs": 30}
)
