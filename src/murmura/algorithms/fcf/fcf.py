"""Ammad-ud-din, Ivannikova, Khan, Oyomno, Fu, Tan, Flanagan: Federated Collaborative Filtering for
Privacy-Preserving Personalized Recommendation System (arXiv 1901.09888, 2019).

The server holds item vectors Q, a client its own vector p_u; the score is p_u . q_i. A visited client solves
its vector in closed form against the received Q (Hu, Koren and Volinsky, ICDM 2008) and sends gradients of item
rows; the server adds them up and steps. p_u never leaves. Every item counts, with confidence 1 + alpha r where
there is an interaction and 1 elsewhere, and the server steps with Adam.

The exchange itself is that of `baseline`, the reading with own items alone; here is what the paper has instead.
docs/papers/fcf.md tells where text, code and these files part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from murmura.algorithms import optimisers
from murmura.algorithms.fcf.baseline import FCF, Values
from murmura.core.arrays import Bools, Floats, Ints, Longs
from murmura.core.contract import (
    ClientState,
    FederationInfo,
    History,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import DataError
from murmura.core.message import TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Positive, settings
from murmura.core.update import SparseRows, Update

if TYPE_CHECKING:
    from murmura.core.kernel import Kernel


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
