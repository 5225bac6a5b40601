"""The compiled twin of the noisy release: the counts and the pairs of all clients at once."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from murmura.algorithms.cooccurrence.item_model import check_times
from murmura.algorithms.cooccurrence.kernel import disclose, shared_rows
from murmura.algorithms.cooccurrence.loops import PersonRows, add_counts, add_pairs
from murmura.algorithms.cooccurrence.low_rank import triangle
from murmura.algorithms.cooccurrence.private import PrivateCooccurrence
from murmura.core.arrays import Bools, Ints, Singles
from murmura.core.contract import FederationInfo, Phase, RoundContext, Total
from murmura.core.kernel import CohortRound, Kernel
from murmura.core.population import Population, States, Tally


@dataclass(frozen=True)
class PrivateCooccurrenceKernel(Kernel):
    """All clients of an exchange at once, through a channel: without one there are no whole numbers to add."""

    method: PrivateCooccurrence

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Only where updates are rounded: floating-point sums have an order."""
        return channel

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone: nothing."""
        check_times(self.method, people.time)
        return {}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """What the clients of a round add to the counts or to the pairs."""
        assert cohort.chain is not None
        people, chain, counts = cohort.people, cohort.chain, cohort.phase.name == "counts"
        shared = shared_rows(cohort, self.method)
        rank = np.arange(cohort.info.items, dtype=np.int32)
        if counts:
            disclose(people, shared, tally)
            tally.item_rows[chain.block(cohort.round)] += len(cohort.clients)
        else:
            core = self.method.core(cohort.info)
            rank = np.full(cohort.info.items, -1, np.int32)
            rank[core] = np.arange(len(core), dtype=np.int32)
        rows = _person_rows(people, shared & (rank[people.item] >= 0), rank)
        n = cohort.info.items if counts else self.method.core_size(cohort.info)
        where = chain.vector_slice(cohort.phase.name, cohort.round)
        cuts = np.linspace(0, len(cohort.clients), cohort.workers + 1).astype(np.int64)
        totals = np.zeros((cohort.workers, chain.words), np.int64)

        def add(w: int) -> None:
            clients = cohort.clients[cuts[w] : cuts[w + 1]]
            room: Singles = np.zeros((n if counts else triangle(n), 1), np.float32)
            work = add_counts if counts else add_pairs
            work(clients, rows, n, people.secrets, np.uint64(cohort.round), where, room, totals[w])

        with ThreadPoolExecutor(cohort.workers) as pool:
            list(pool.map(add, range(cohort.workers)))
        total = totals.sum(axis=0)
        total[0] = len(cohort.clients)
        return chain.sum_up(total, cohort.round), {}

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone: nothing to do."""
        return {}


def _person_rows(people: Population, keep: Bools, rank: Ints) -> PersonRows:
    """The ranks of what every person of every client shares, ascending."""
    owner = np.repeat(np.arange(people.clients), np.diff(people.start))
    person = np.zeros(len(owner), np.int32) if people.person is None else people.person
    ranks = rank[people.item[keep]]
    order = np.lexsort((ranks, person[keep], owner[keep]))
    whose = np.stack([owner[keep][order], person[keep][order]])
    begins = (
        np.flatnonzero(np.append(True, (np.diff(whose, axis=1) != 0).any(axis=0))) if len(order) else order[:0]
    )
    start = np.append(begins, len(order)).astype(np.int64)
    first = np.searchsorted(whose[0][begins], np.arange(people.clients + 1)).astype(np.int64)
    return PersonRows(first, start, ranks[order])
