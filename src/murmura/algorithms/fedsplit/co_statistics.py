"""Item co-statistics that can be summed in secret: the whole of what `fedsplit-svd` approximates. Ours.

Exchange 0 sums ratings and people; mu comes back. Exchange 1 sums, over everyone, x_i x_j, x_i m_j and m_i m_j
of every pair of items, x being a rating less mu and less the person's bias, and m one where there is a rating.
It is large, so it travels in blocks of item rows, one sum per block; nothing comes back in between. The server
reads no single update: a secure sum hides every one. `item_patterns` says what becomes of the sums.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from murmura.algorithms.fedsplit.fedsplit import MU, mu_of
from murmura.algorithms.fedsplit.item_patterns import PatternSettings, item_patterns
from murmura.algorithms.fedsplit.local import open_rows, owners
from murmura.algorithms.fedsplit.ridge_rater import RidgeRater, centred
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
from murmura.core.update import Arrays, SparseRows, Update

PAIRS = ("xx", "xm", "mm")


@settings
class CoStatistics(PatternSettings, RidgeRater):
    """Patterns from summed products of items; no update needs to be read."""

    name: ClassVar[str] = "co-statistics"

    block: Annotated[int, Field(ge=1)] = 64  # rows of items in one upload

    def phases(self, info: FederationInfo) -> tuple[Phase, ...]:
        """A sum of means, then one sum per block of items."""
        tables = tuple(TableSpec(name, "item", info.items, info.items, self.precision) for name in PAIRS)
        means = MessageSpec(scalars=("ratings", "sum", "people"))
        before = self._blocks(info.items) - 1
        first = Phase("means", means, repeat=1, receives=MessageSpec())
        pairs = Phase("pairs", MessageSpec(tables), repeat=before, receives=MessageSpec((MU,)))
        last = Phase("last pairs", MessageSpec(tables), repeat=1, receives=MessageSpec((MU,)), returns=True)
        return (first, pairs, last) if before else (first, last)

    def _blocks(self, items: int) -> int:
        return -(-items // self.block)

    def server_init(self, info: FederationInfo, rng: Rng) -> ServerState:
        """Nothing is known; the sums are gathered where nobody else reads them."""
        sums = {name: np.zeros((info.items, info.items), self.precision) for name in PAIRS}
        return ServerState(super().server_init(info, rng).model, {**sums, "people": np.zeros(1)})

    def client_step(
        self, context: RoundContext, state: ClientState, history: History, rng: Rng
    ) -> tuple[ClientState, Update]:
        """Means; then the products of the block's items with all items, of the shared ratings alone."""
        own = history.rows(open_rows(history, rng))
        if context.phase == "means":
            people = float(len(np.unique(owners(own))))
            totals = {"ratings": float(len(own)), "sum": float(own.value.sum()), "people": people}
            return state, Update(scalars=totals)
        first = self.block * ((context.round - 1) % self._blocks(context.info.items))
        return state, Update(self._products(context, own, first))

    def _products(self, context: RoundContext, own: History, first: int) -> dict[str, SparseRows]:
        """Rows first, first + 1, ... of the three sums."""
        items, column = np.unique(own.item, return_inverse=True)
        _, person = np.unique(owners(own), return_inverse=True)
        x, m = (np.zeros((person.max(initial=-1) + 1, len(items))) for _ in range(2))
        x[person, column] = centred(own, person, mu_of(context.model), self.shrink_bias)
        m[person, column] = 1.0
        here = np.flatnonzero((items >= first) & (items < first + self.block))
        made = {}
        for name, left, right in (("xx", x, x), ("xm", x, m), ("mm", m, m)):
            rows = np.zeros((len(here), context.info.items), self.precision)
            rows[:, items] = left[:, here].T @ right
            made[name] = SparseRows(items[here].astype(np.int32), rows)
        return made

    def server_step(
        self, phase: str, server: ServerState, received: Total | IndividualUpdates
    ) -> tuple[ServerState, Answers]:
        """The mean of all ratings; then the sums, block by block, and after the last the patterns."""
        assert isinstance(received, Total)
        if phase == "means":
            sums = received.update.scalars
            mu = np.array([sums["sum"] / max(1.0, sums["ratings"])])
            people = np.array([sums["people"]])
            return ServerState({**server.model, "mu": mu}, {**server.private, "people": people}), {}
        private = dict(server.private)
        for name in PAIRS:
            rows, private[name] = received.update.tables[name], server.private[name].copy()
            private[name][rows.index] = rows.values
        if phase == "pairs":
            return ServerState(server.model, private), {}
        return ServerState({**server.model, **self._model(private)}, private), {}

    def _model(self, sums: Arrays) -> Arrays:
        """Biases and patterns: the products of x - b_i m follow from those of x and m."""
        xx, xm, N = (sums[name].astype(np.float64) for name in PAIRS)
        b = np.diag(xm) / (np.diag(N) + self.shrink_bias)
        crossed = xm * b[None, :]
        S = xx - crossed - crossed.T + N * np.outer(b, b)
        patterns = item_patterns(S, N, int(sums["people"][0]), self)
        return {"b": b.astype(self.precision), "patterns": patterns.astype(self.precision)}
