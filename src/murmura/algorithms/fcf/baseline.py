"""FCF as the baseline in the tables of FedeRank (ECIR 2021) and FPL (SAC 2021), as their authors' code has it.

Confidence 1 and 0, so a client fits and sends its own items alone, and the server takes plain steps. `fcf` has
the paper FCF comes from; docs/papers/fcf.md tells where its text, this code and these files part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Floats, Ints
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
from murmura.core.errors import FederationError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Purpose, Rng
from murmura.core.settings import Count, Positive, settings
from murmura.core.update import SparseRows, Update

if TYPE_CHECKING:
    from murmura.core.kernel import Kernel

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
