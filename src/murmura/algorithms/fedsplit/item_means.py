"""The baseline without factors: summed item means, and a user bias on the client. One sum, nothing else. Ours.

It is what any exchange of factors must beat: on MovieLens 1M it predicts better than FedSPLIT as printed.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from murmura.algorithms.fedsplit.local import open_rows
from murmura.algorithms.fedsplit.ridge_rater import RidgeRater
from murmura.core.disclosure import Disclosure, Table
from murmura.core.federation import (
    Answers,
    Call,
    ClientState,
    History,
    Letters,
    Phase,
    Public,
    ServerState,
    Total,
)
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

    def phases(self, public: Public) -> tuple[Phase, ...]:
        """One sum: of each item its ratings added up, and how many."""
        items = Table("items", "item", public.items, 2, self.precision)
        return (Phase("ratings", Disclosure((items,)), repeat=1, receives=Disclosure(), returns=True),)

    def client_step(
        self, call: Call, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        """The shared ratings, added up by item."""
        rows = history.rows(open_rows(history, rng))
        summed = SparseRows.of(rows.item, np.column_stack([rows.value, np.ones(len(rows))]))
        return state, Update({"items": SparseRows(summed.index, summed.values.astype(self.precision))})

    def server_step(
        self, phase: str, server: ServerState, inbox: Total | Letters
    ) -> tuple[ServerState, Answers]:
        """The mean of all ratings, and every item's distance from it, shrunk."""
        assert isinstance(inbox, Total)
        rows = inbox.update.tables["items"]
        total, n = rows.values.astype(np.float64).T
        mu = total.sum() / max(n.sum(), 1.0)
        b = server.model["b"].copy()
        b[rows.index] = (total - n * mu) / (n + self.shrink_bias)
        return ServerState({"b": b, "mu": np.array([mu])}), {}
