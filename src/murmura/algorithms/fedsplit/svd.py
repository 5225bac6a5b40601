"""FedSPLIT's exchange with another update: singular vectors of ratings and of who rated what. Ours.

Exchange 0 is the paper's: the groups' means in, their mean mu out. In exchange 1 a group takes the leading k
singular vectors of [X, c M] side by side, X its ratings less mu and less each person's bias, M who rated what,
and sends their item parts V s with every item's sum of X and number of ratings: 2 k + 2 numbers per item.
Products of these parts add up over groups to approximate co-statistics of all people, X' X, M' M and X' M,
exactly so when k is the size of the group. `co_statistics` says what becomes of them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from murmura.algorithms.fedsplit.co_statistics import PatternSettings, item_patterns
from murmura.algorithms.fedsplit.fedsplit import MU, mu_of
from murmura.algorithms.fedsplit.local import unable
from murmura.algorithms.fedsplit.ridge_rater import RidgeRater, centred
from murmura.algorithms.fedsplit.server_side import too_large
from murmura.core.arrays import Floats, Ints
from murmura.core.contract import (
    ClientState,
    ClientStep,
    FederationInfo,
    History,
    IndividualUpdates,
    Phase,
    Received,
    RoundContext,
    ServerState,
    ServerStep,
    Total,
)
from murmura.core.errors import DataError
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng
from murmura.core.settings import Count, Positive, settings
from murmura.core.update import SparseRows, Update


@settings
class FedSplitSvd(PatternSettings, RidgeRater):
    """One exchange of singular vectors between groups. The server reads every update."""

    name: ClassVar[str] = "fedsplit-svd"

    factors: Count = 6  # k: singular vectors of a group
    mask_scale: Positive = 1.0  # c: how much who rated what counts beside the ratings

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of means, then updates."""
        items = TableSpec("items", "item", info.items, 2 * self.factors + 2, self.precision)
        means = MessageSpec(scalars=("mean", "groups", "people"))
        return (
            Phase("means", means, repeat=1, receives=MessageSpec()),
            Phase("factors", MessageSpec((items,)), "each", 1, receives=MessageSpec((MU,)), returns=True),
        )

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known."""
        return ServerState(super().server_init(info, rng).model, {"people": np.zeros(1)})

    def client_step(self, context: RoundContext, state: ClientState, history: History, rng: Rng) -> ClientStep:
        """The mean rating of a group; then its update. Nothing is made from a rating that is not shared."""
        rows = history.rows(history.open_rows(rng))
        why = unable(rows)
        if context.phase == "means":
            mean = 0.0 if why else float(rows.value.mean())
            people = 0.0 if why else float(len(rows.people))
            return state, Update(scalars={"mean": mean, "groups": float(mean > 0), "people": people})
        if why:
            raise DataError(why)
        items, numbers = self._sent_rows(rows, mu_of(context.model))
        return state, Update({"items": SparseRows(items, numbers.astype(self.precision))})

    def _sent_rows(self, history: History, mu: float) -> tuple[Ints, Floats]:
        """Which items, and per item k numbers of the ratings, k of the mask, the sum of X, the ratings."""
        items, column = np.unique(history.item, return_inverse=True)
        _, person = np.unique(history.owners, return_inverse=True)
        x = centred(history, person, mu, self.shrink_bias)
        J = np.zeros((person.max() + 1, 2, len(items)))
        J[person, 0, column], J[person, 1, column] = x, self.mask_scale
        flat = J.reshape(len(J), -1)
        with threadpool_limits(1, "blas"):
            _, U = np.linalg.eigh(flat @ flat.T)
            parts = (flat.T @ U[:, ::-1][:, : self.factors]).reshape(2, len(items), -1)
        wide = ((0, 0), (0, self.factors - parts.shape[2]))
        ratings, mask = np.pad(parts[0], wide), np.pad(parts[1], wide) / self.mask_scale
        sums = (np.bincount(column, x), np.bincount(column).astype(np.float64))
        return items.astype(np.int32), np.column_stack([ratings, mask, *sums])

    def server_refuses(self, phase: Phase, update: Update) -> str | None:
        """Updates without an item, or with an item without a rating."""
        values = update.tables["items"].values
        if not len(values):
            return "a group must send at least one item it has rated, but sent none."
        if values[:, -1].min() < 1:
            return f"an item must be sent with at least 1 rating, but one has {values[:, -1].min():g}."
        return too_large(values)

    def server_step(self, phase: str, server: ServerState, received: Received) -> ServerStep:
        """The mean of means; then co-statistics from all updates, and the patterns from those."""
        if phase == "means":
            assert isinstance(received, Total)
            sums = received.update.scalars
            mu = np.array([sums["mean"] / max(1.0, sums["groups"])])
            return ServerState({**server.model, "mu": mu}, {"people": np.array([sums["people"]])}), {}
        assert isinstance(received, IndividualUpdates)
        sent = [received.updates[client].tables["items"] for client in sorted(received.updates)]
        b, S, N = self._co_statistics(sent, len(server.model["b"]))
        patterns = item_patterns(S, N, int(server.private["people"][0]), self)
        model = {"patterns": patterns.astype(self.precision), "b": b.astype(self.precision)}
        return ServerState({**server.model, **model}, server.private), {}

    def _co_statistics(self, sent: list[SparseRows], items: int) -> tuple[Floats, Floats, Floats]:
        """The bias of every item, and S and N of all pairs, as far as the updates tell."""
        k = self.factors
        sums, counts = np.zeros(items), np.zeros(items)
        for rows in sent:
            sums[rows.index] += rows.values[:, 2 * k]
            counts[rows.index] += rows.values[:, 2 * k + 1]
        b = sums / (counts + self.shrink_bias)
        ratings, mask = (np.zeros((items, k * len(sent))) for _ in range(2))
        for n, rows in enumerate(sent):
            here = slice(n * k, (n + 1) * k)
            mask[rows.index, here] = rows.values[:, k : 2 * k]
            ratings[rows.index, here] = rows.values[:, :k] - b[rows.index, None] * mask[rows.index, here]
        with threadpool_limits(1, "blas"):
            S, N = ratings @ ratings.T, mask @ mask.T
        np.fill_diagonal(N, counts)
        return b, S, N
