"""The baseline without factors: summed item means, and a user bias on the client. One sum, nothing else. Ours.

It is what any exchange of factors must beat: on MovieLens 1M it predicts better than FedSPLIT as printed.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.algorithms.fedsplit.local import open_rows
from murmura.algorithms.fedsplit.ridge_rater import RidgeRater
from murmura.core.contract import (
    Answers,
    ClientState,
    FederationInfo,
    History,
    IndividualUpdates,
    Phase,
    RoundContext,
    ServerState,
    Total,
)
from murmura.core.message import MessageSpec, TableSpec
from murmura.core.rng import Rng
from murmura.core.settings import settings
from murmura.core.update import SparseRows, Update


@settings
class ItemMeans(RidgeRater):
    """mu + b_i + b_u from one sum of ratings and counts, which a secure sum can hide."""

    name: ClassVar[str] = "item-means"

    @property
    def patterns(self) -> int:
        """None."""
        return 0

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """One sum: of each item its ratings added up, and how many."""
        items = TableSpec("items", "item", info.items, 2, self.precision)
        return (Phase("ratings", MessageSpec((items,)), repeat=1, receives=MessageSpec(), returns=True),)

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        """The shared ratings, added up by item."""
        rows = history.rows(open_rows(history, rng))
        summed = SparseRows.of(rows.item, np.column_stack([rows.value, np.ones(len(rows))]))
        return state, Update({"items": SparseRows(summed.index, summed.values.astype(self.precision))})

    def server_step(
        self, phase: str, server: ServerState, received: Total | IndividualUpdates
    ) -> tuple[ServerState, Answers]:
        """The mean of all ratings, and every item's distance from it, shrunk."""
        assert isinstance(received, Total)
        rows = received.update.tables["items"]
        total, n = rows.values.astype(np.float64).T
        mu = total.sum() / max(n.sum(), 1.0)
        b = server.model["b"].copy()
        b[rows.index] = (total - n * mu) / (n + self.shrink_bias)
        return ServerState({"b": b, "mu": np.array([mu])}), {}
