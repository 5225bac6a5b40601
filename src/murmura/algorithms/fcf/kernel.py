"""The compiled twin of FCF: a round of all clients at once.

Clients are solved in blocks whose size does not depend on the number of workers, and sums are taken in the
order of the clients, so that workers change no bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.algorithms.fcf.fcf import FCF, SPREAD, FCFPaper
from murmura.algorithms.fcf.loops import Weights, add_shared, send_all_rows, send_own_rows
from murmura.core.arrays import Bytes, Floats, Ints, Longs
from murmura.core.contract import FederationInfo, RoundContext, Total
from murmura.core.kernel import CohortRound
from murmura.core.population import Population, States, Tally
from murmura.core.update import SparseRows, Update
from murmura.kernels.client_blocks import ClientBlock, draw_consent
from murmura.kernels.cohort_kernel import CohortKernel
from murmura.kernels.factorisation.als import solve_own_rows, solve_rows
from murmura.kernels.philox import initial_rows
from murmura.kernels.sparse import Sparse

BLOCK = 1024  # clients solved in one call, at least


@dataclass(frozen=True, eq=False)
class CohortRows:
    """The clients of a round, with their rows one after the other."""

    clients: Ints | slice  # a slice: everyone, without a copy of anything
    place: Longs | slice  # of their rows among the rows of all clients
    start: Longs  # client number k of the round holds rows start[k] to start[k + 1]

    @staticmethod
    def of(cohort: CohortRound) -> CohortRows:
        """The clients that take part in a round."""
        people, clients = cohort.people, cohort.clients
        if cohort.everyone:
            return CohortRows(slice(None), slice(None), people.start)
        first, lengths = people.start[clients], people.start[clients + 1] - people.start[clients]
        start: Longs = np.concatenate([[0], np.cumsum(lengths)])
        return CohortRows(clients, np.repeat(first - start[:-1], lengths) + np.arange(start[-1]), start)


class FCFKernel(CohortKernel[FCF]):
    """All clients of a round at once, own items only."""

    in_blocks: ClassVar[bool] = False

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone."""
        self.algorithm.check_rows(people.value, people.time)
        P = np.empty((people.clients, self.algorithm.factors), self.algorithm.precision)
        initial_rows(people.secrets, SPREAD, P)
        return {"p": P}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """The sum of what the clients of a round send."""
        info, people = cohort.info, cohort.people
        visits, Q = CohortRows.of(cohort), cohort.model["Q"].astype(np.float64)
        rows = self.rows(people, visits)
        P = self.solve_all(info, Q, rows, cohort.workers).astype(self.algorithm.precision)
        states["p"][visits.clients] = P
        if cohort.chain is not None:
            return super().cohort_sum(cohort, states, tally)
        by_item, send = cohort.phase.sends.tables[0].space == "item", draw_shared(cohort, visits, tally)
        with threadpool_limits(1, "blas"):
            sent = self.total(info, Q, P.astype(np.float64), rows, send, cohort.client_weights())
        shared = np.bincount(rows.column[send == 1], minlength=len(tally.item_rows))
        tally.item_rows += shared if by_item else 0  # a dense update has no rows of items to count
        counts = int(shared.sum()) if by_item else len(P) * len(sent.index)
        return Total(Update({"items": sent}), len(P)), {"items": counts}

    def send(self, cohort: CohortRound, states: States, scratch: Any, block: ClientBlock) -> None:
        """What some clients send through a channel: gradients of the items they share."""
        send_own_rows(states["p"], cohort.model["Q"].astype(np.float64), block)

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone, in new arrays."""
        if not self.algorithm.refresh:
            return {"p": states["p"].copy()}
        everyone = CohortRows(slice(None), slice(None), people.start)
        Q, rows = context.model["Q"].astype(np.float64), self.rows(people, everyone)
        return {"p": self.solve_all(context.info, Q, rows, workers).astype(self.algorithm.precision)}

    def score(self, context: RoundContext, states: States, users: Ints) -> NDArray[Any]:
        """`client_score` of a block of clients: (users, items)."""
        scores: NDArray[Any] = states["p"][users] @ context.model["Q"].T
        return scores

    def solve_all(self, info: FederationInfo, Q: Floats, rows: Sparse, workers: int) -> Floats:
        """The vector of every client, in float64."""
        size = max(BLOCK, len(info.listed) // 8)  # what all clients share is worked out once per block
        clients = len(rows.start) - 1
        P = np.empty((clients, self.algorithm.factors))

        def work(worker: int, first: int, last: int) -> None:
            for at in range(first * size, min(last * size, clients), size):
                own = Sparse(rows.start[at : at + size + 1], rows.column, rows.value)
                P[at : at + size] = self.solve(info, Q, own)

        with threadpool_limits(1, "blas"):
            self.in_parallel(work, -(-clients // size), workers)
        return P

    def rows(self, people: Population, visits: CohortRows) -> Sparse:
        """The items of the clients of a round; every value is 1."""
        item = people.item[visits.place]
        return Sparse.of(visits.start, item, np.ones(len(item)))

    def solve(self, info: FederationInfo, Q: Floats, rows: Sparse) -> Floats:
        """Ridge regression on the own items, target 1."""
        return solve_own_rows(rows, np.full(len(rows.start) - 1, self.algorithm.reg), Q)

    def total(
        self, info: FederationInfo, Q: Floats, P: Floats, rows: Sparse, send: Bytes, scale: Floats
    ) -> SparseRows:
        """The sum of what everyone sends: the rows of the items that anyone shares."""
        total = np.zeros_like(Q)
        add_shared(rows, send, P, Q, Weights(2.0, 0.0, 0.0), scale, total)
        index = np.unique(rows.column[send == 1])
        return SparseRows(index, total[index].astype(self.algorithm.precision))


class FCFPaperKernel(FCFKernel):
    """All clients of a round at once, every item."""

    algorithm: FCFPaper

    def rows(self, people: Population, visits: CohortRows) -> Sparse:
        """The items of the clients of a round with r."""
        return Sparse.of(
            visits.start, people.item[visits.place], self.algorithm.strength(people.value[visits.place])
        )

    def solve(self, info: FederationInfo, Q: Floats, rows: Sparse) -> Floats:
        """Hu, Koren and Volinsky's closed form over the items on offer."""
        place = np.zeros(len(Q), np.int32)
        place[info.listed] = np.arange(len(info.listed))
        here = slice(rows.start[0], rows.start[-1])
        own = Sparse.of(rows.start - rows.start[0], place[rows.column[here]], rows.value[here])
        ridge = np.full(len(rows.start) - 1, self.algorithm.reg)
        return solve_rows(own, self.algorithm.alpha, ridge, Q[info.listed])

    def total(
        self, info: FederationInfo, Q: Floats, P: Floats, rows: Sparse, send: Bytes, scale: Floats
    ) -> SparseRows:
        """sum f(u, i) of every item: -Q P'P as if nobody had shared anything, corrected at the shared rows."""
        total = np.zeros_like(Q)
        add_shared(rows, send, P, Q, Weights(1.0, self.algorithm.alpha, 1.0), scale, total)
        # a product with itself takes the same path through BLAS at any scale
        scaled = P * np.sqrt(scale)[:, None]
        dense = total[info.listed] - Q[info.listed] @ (scaled.T @ scaled)
        return SparseRows(np.arange(len(dense), dtype=np.int32), dense.astype(self.algorithm.precision))

    def send(self, cohort: CohortRound, states: States, scratch: Any, block: ClientBlock) -> None:
        """What some clients send through a channel: gradients of all items on offer."""
        Q, r = cohort.model["Q"].astype(np.float64), self.algorithm.strength(cohort.people.value)
        send_all_rows(states["p"], Q, r, cohort.info.listed, self.algorithm.alpha, block)


def draw_shared(cohort: CohortRound, visits: CohortRows, tally: Tally) -> Bytes:
    """Which rows of the clients of a round are shared in it; notes them in the tally."""
    people, before = cohort.people, tally.sent[visits.place].copy()
    secrets = people.secrets[visits.clients]
    send = draw_consent(visits.start, people.consent[visits.place], secrets, cohort.round, people.per_round)
    sent = before | send
    tally.sent[visits.place] = sent
    new = np.concatenate([[0], np.cumsum(sent - before, dtype=np.int64)])
    tally.disclosed[visits.clients] += np.diff(new[visits.start])
    return send
