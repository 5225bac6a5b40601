"""The compiled twin of FCF: a round of all clients at once.

Clients are solved in blocks whose size does not depend on the number of workers, and sums are taken in the
order of the clients, so that workers change no bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.algorithms.fcf.baseline import FCF, SPREAD
from murmura.algorithms.fcf.fcf import FCFPaper
from murmura.core.arrays import Bools, Bytes, Floats, Ints, Longs
from murmura.core.federation import Call, Phase, Public, Total
from murmura.core.kernel import CohortRound, Spot
from murmura.core.population import Population, States
from murmura.core.rng import Words
from murmura.core.tally import Tally
from murmura.core.update import Arrays, SparseRows, Update
from murmura.kernels.als import solve_own_rows, solve_rows
from murmura.kernels.draws import initial_rows
from murmura.kernels.fcf import COINS, CONSENT, Weights, add_shared, share_rows
from murmura.kernels.fcf_posts import post_all, post_own
from murmura.kernels.sparse import Sparse

BLOCK = 1024  # clients solved in one call, at least


@dataclass(frozen=True, eq=False)
class Visits:
    """The clients of a round, with their rows one after the other."""

    clients: Ints | slice  # a slice: everyone, without a copy of anything
    place: Longs | slice  # of their rows among the rows of all clients
    start: Longs  # client number k of the round holds rows start[k] to start[k + 1]

    @staticmethod
    def of(cohort: CohortRound) -> Visits:
        """The clients that take part in a round."""
        people, clients = cohort.people, cohort.clients
        if cohort.everyone:
            return Visits(slice(None), slice(None), people.start)
        first, lengths = people.start[clients], people.start[clients + 1] - people.start[clients]
        start: Longs = np.concatenate([[0], np.cumsum(lengths)])
        return Visits(clients, np.repeat(first - start[:-1], lengths) + np.arange(start[-1]), start)


class Post(NamedTuple):
    """What the clients of a round send through a channel is made of."""

    rows: Sparse
    send: Bytes
    P: Floats
    Q: Floats
    secrets: Words
    round: int
    spot: Spot


@dataclass(frozen=True)
class FCFKernel:
    """All clients of a round at once, own items only."""

    method: FCF

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Everything it exchanges, through a channel too."""
        return True

    def init_clients(self, public: Public, people: Population) -> States:
        """`client_init` of everyone."""
        self.method.check_values(people.value)
        P = np.empty((people.clients, self.method.factors), self.method.precision)
        initial_rows(people.secrets, SPREAD, P)
        return {"p": P}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """The sum of what the clients of a round send."""
        public, people, round, carrier = cohort.public, cohort.people, cohort.round, cohort.carrier
        visits, Q = Visits.of(cohort), cohort.model["Q"].astype(np.float64)
        rows = self.rows(people, visits)
        P = self.solve_all(public, Q, rows, cohort.workers).astype(self.method.precision)
        states["p"][visits.clients] = P
        spot = None if carrier is None else carrier.spot("items", round)
        send = disclose(people, visits, round, tally, self.leaves(rows, spot))
        if carrier is None or spot is None:
            with threadpool_limits(1, "blas"):
                sent = self.total(public, Q, P.astype(np.float64), rows, send)
            counts = self.count(rows, send, len(P), len(sent.index), tally)
            return Total(Update({"items": sent}), len(P)), {"items": counts}
        post = Post(rows, send, P.astype(np.float64), Q, people.secrets[visits.clients], round, spot)
        self.count_block(carrier.block(round), len(P), tally)
        return carrier.sum_up(self.posted(public, post, carrier.words, cohort.workers), round), {}

    def posted(self, public: Public, post: Post, words: int, workers: int) -> Longs:
        """The sum of what everyone sends through a channel."""
        cuts = [len(post.P) * k // workers for k in range(workers + 1)]
        totals = np.zeros((workers, words), np.int64)
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda w: self.post(public, post, cuts[w], cuts[w + 1], totals[w]), range(workers)))
        sums: Longs = totals.sum(axis=0)
        return sums

    def post(self, public: Public, post: Post, first: int, last: int, total: Longs) -> None:
        """What clients first to last send: gradients of the items they share."""
        post_own(first, last, *post, total)

    def leaves(self, rows: Sparse, spot: Spot | None) -> Bools | None:
        """Which rows of the clients of a round can leave; None: all."""
        return None if spot is None else spot.place[rows.column] >= 0

    def count_block(self, block: Ints, visits: int, tally: Tally) -> None:
        """Note the items whose rows were sent through a channel."""
        tally.item_rows[block] += visits

    def ready_clients(self, call: Call, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone, in new arrays."""
        if not self.method.refresh:
            return {"p": states["p"].copy()}
        everyone = Visits(slice(None), slice(None), people.start)
        Q, rows = call.model["Q"].astype(np.float64), self.rows(people, everyone)
        return {"p": self.solve_all(call.public, Q, rows, workers).astype(self.method.precision)}

    def score(self, model: Arrays, states: States, users: Ints) -> NDArray[Any]:
        """`client_score` of a block of clients: (users, items)."""
        scores: NDArray[Any] = states["p"][users] @ model["Q"].T
        return scores

    def solve_all(self, public: Public, Q: Floats, rows: Sparse, workers: int) -> Floats:
        """The vector of every client, in float64."""
        size = max(BLOCK, len(public.listed) // 8)  # what all clients share is worked out once per block
        blocks = [
            Sparse(rows.start[a : a + size + 1], rows.column, rows.value)
            for a in range(0, len(rows.start) - 1, size)
        ]
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
            solved = pool.map(lambda block: self.solve(public, Q, block), blocks)
            return np.concatenate(list(solved))

    def rows(self, people: Population, visits: Visits) -> Sparse:
        """The items of the clients of a round; every value is 1."""
        item = people.item[visits.place]
        return Sparse.of(visits.start, item, np.ones(len(item)))

    def solve(self, public: Public, Q: Floats, rows: Sparse) -> Floats:
        """Ridge regression on the own items, target 1."""
        return solve_own_rows(rows, np.full(len(rows.start) - 1, self.method.reg), Q)

    def total(self, public: Public, Q: Floats, P: Floats, rows: Sparse, send: Bytes) -> SparseRows:
        """The sum of what everyone sends: the rows of the items that anyone shares."""
        total = np.zeros_like(Q)
        add_shared(rows, send, P, Q, Weights(2.0, 0.0, 0.0), total)
        index = np.unique(rows.column[send == 1])
        return SparseRows(index, total[index].astype(self.method.precision))

    def count(self, rows: Sparse, send: Bytes, visits: int, sent: int, tally: Tally) -> int:
        """Note the items whose rows were sent; how many rows that were."""
        shared = np.bincount(rows.column[send == 1], minlength=len(tally.item_rows))
        tally.item_rows += shared
        return int(shared.sum())


@dataclass(frozen=True)
class FCFPaperKernel(FCFKernel):
    """All clients of a round at once, every item."""

    method: FCFPaper

    def rows(self, people: Population, visits: Visits) -> Sparse:
        """The items of the clients of a round with r."""
        return Sparse.of(
            visits.start, people.item[visits.place], self.method.strength(people.value[visits.place])
        )

    def solve(self, public: Public, Q: Floats, rows: Sparse) -> Floats:
        """Hu, Koren and Volinsky's closed form over the items on offer."""
        place = np.zeros(len(Q), np.int32)
        place[public.listed] = np.arange(len(public.listed))
        here = slice(rows.start[0], rows.start[-1])
        own = Sparse.of(rows.start - rows.start[0], place[rows.column[here]], rows.value[here])
        ridge = np.full(len(rows.start) - 1, self.method.reg)
        return solve_rows(own, self.method.alpha, ridge, Q[public.listed])

    def total(self, public: Public, Q: Floats, P: Floats, rows: Sparse, send: Bytes) -> SparseRows:
        """sum f(u, i) of every item: -Q P'P as if nobody had shared anything, corrected at the shared rows."""
        total = np.zeros_like(Q)
        add_shared(rows, send, P, Q, Weights(1.0, self.method.alpha, 1.0), total)
        dense = total[public.listed] - Q[public.listed] @ (P.T @ P)
        return SparseRows(np.arange(len(dense), dtype=np.int32), dense.astype(self.method.precision))

    def post(self, public: Public, post: Post, first: int, last: int, total: Longs) -> None:
        """What clients first to last send: gradients of all items on offer."""
        post_all(first, last, *post, public.listed, self.method.alpha, total)

    def leaves(self, rows: Sparse, spot: Spot | None) -> Bools | None:
        """A dense update travels whole."""
        return None

    def count_block(self, block: Ints, visits: int, tally: Tally) -> None:
        """A dense update has no rows of items to count."""

    def count(self, rows: Sparse, send: Bytes, visits: int, sent: int, tally: Tally) -> int:
        """Everyone sends every row."""
        return visits * sent


def disclose(people: Population, visits: Visits, round: int, tally: Tally, leaves: Bools | None) -> Bytes:
    """Which rows of the clients of a round are shared in it; notes those that leave in the tally."""
    share, before = people.share[visits.place], tally.sent[visits.place].copy()
    send = np.empty(len(share), np.uint8)
    purpose = CONSENT if people.per_round else COINS
    share_rows(visits.start, share, people.secrets[visits.clients], round, purpose, send)
    sent = before | (send if leaves is None else send & leaves)
    tally.sent[visits.place] = sent
    new = np.concatenate([[0], np.cumsum(sent - before, dtype=np.int64)])
    tally.disclosed[visits.clients] += np.diff(new[visits.start])
    return send
