"""The compiled twin: the counts and the pairs of all clients at once, in constant memory."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence, layout
from murmura.algorithms.cooccurrence.item_model import check_times, valued
from murmura.algorithms.cooccurrence.model_settings import RankingSettings
from murmura.core.arrays import Bools, Longs
from murmura.core.contract import FederationInfo, RoundContext, Total
from murmura.core.kernel import CohortRound, CompiledChannel, Kernel
from murmura.core.population import Population, States, Tally
from murmura.core.update import SparseRows, Update
from murmura.kernels.packing import add_pairs
from murmura.kernels.shared_rows import draw_consent

CLIENTS = 1024  # whose bits are written at once


@dataclass(frozen=True)
class CooccurrenceKernel(Kernel):
    """All clients of an exchange at once."""

    ranks: ClassVar[bool] = False  # a client's own loop is as fast: rows of weights are added up
    method: Cooccurrence

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone."""
        check_times(self.method, people.time)
        return {"counted": np.zeros((people.clients, -(-info.items // 8)), np.uint8)}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """How often each item is shared; or each pair of what was counted."""
        shared = shared_rows(cohort, self.method)
        if cohort.phase.name == "counts":
            return self._counts(cohort, shared, states, tally)
        return self._pairs(cohort, shared, states)

    def _counts(
        self, cohort: CohortRound, shared: Bools, states: States, tally: Tally
    ) -> tuple[Total, Mapping[str, int]]:
        info, people = cohort.info, cohort.people
        owner = np.repeat(np.arange(people.clients), np.diff(people.start))
        for first in range(0, people.clients, CLIENTS):
            block = slice(first, min(first + CLIENTS, people.clients))
            rows = slice(people.start[block.start], people.start[block.stop])
            mine = shared[rows]
            bits = np.zeros((block.stop - block.start, 8 * states["counted"].shape[1]), np.bool_)
            bits[owner[rows][mine] - first, people.item[rows][mine]] = True
            here = np.isin(np.arange(block.start, block.stop), cohort.clients)
            states["counted"][block][here] = np.packbits(bits, axis=1)[here]
        sums = np.bincount(people.item[shared], minlength=info.items)
        disclose(people, shared, tally)
        if cohort.chain is not None:
            tally.item_rows[cohort.chain.block(cohort.round)] += len(cohort.clients)
            return _through(cohort, cohort.chain, "counts", sums), {}
        key = np.unique(owner[shared] * np.int64(info.items) + people.item[shared])
        tally.item_rows += np.bincount(key % info.items, minlength=info.items)
        index = np.flatnonzero(sums).astype(np.int32)
        sent = SparseRows(index, sums[index].astype(np.uint32)[:, None])
        return Total(Update({"counts": sent}), len(cohort.clients)), {"counts": len(key)}

    def _pairs(self, cohort: CohortRound, shared: Bools, states: States) -> tuple[Total, Mapping[str, int]]:
        visits = len(cohort.clients)
        words = self._packed(cohort, shared, states) if cohort.phase.sends.tables else None
        if cohort.chain is not None:
            return _through(cohort, cohort.chain, "pairs", words), {}
        if words is None:
            return Total(Update(), visits), {}
        sent = SparseRows(np.arange(len(words), dtype=np.int32), words.astype(np.uint32)[:, None])
        return Total(Update({"pairs": sent}), visits), {"pairs": visits * len(words)}

    def _packed(self, cohort: CohortRound, shared: Bools, states: States) -> Longs:
        """The sum of the words of a part."""
        people, counts = cohort.people, cohort.info.counts
        assert counts is not None
        pairs = layout(counts, self.method.least)
        owner = np.repeat(np.arange(people.clients), np.diff(people.start))
        byte, bit = people.item // 8, 7 - people.item % 8
        counted = (states["counted"][owner, byte] >> bit.astype(np.uint8)) & 1 == 1
        rank = np.full(cohort.info.items, -1, np.int32)
        rank[pairs.items] = np.arange(len(pairs), dtype=np.int32)
        rank = rank[people.item]
        keep = shared & counted & (rank >= 0)
        person = np.zeros(len(owner), np.int32) if people.person is None else people.person
        order = np.lexsort((rank[keep], person[keep], owner[keep]))
        whose = (owner[keep] * np.int64(cohort.info.people) + person[keep])[order]
        start = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(whose)) + 1, [len(whose)]]))
        cuts = np.linspace(0, len(start) - 1, cohort.workers + 1).astype(np.int64)
        totals = np.zeros((cohort.workers, pairs.words), np.int64)
        ranks = rank[keep][order]
        with ThreadPoolExecutor(cohort.workers) as pool:
            list(
                pool.map(
                    lambda w: add_pairs(int(cuts[w]), int(cuts[w + 1]), start, ranks, *pairs.places, totals[w]),
                    range(cohort.workers),
                )
            )
        there = self.method.words_of(pairs, cohort.phase.name)
        words: Longs = totals.sum(axis=0)[there]
        return words

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone: nothing to do."""
        return {"counted": states["counted"]}


def shared_rows(cohort: CohortRound, method: RankingSettings) -> Bools:
    """(rows of all clients,) which rows of the cohort speak in this exchange."""
    people = cohort.people
    send = draw_consent(people.start, people.consent, people.secrets, cohort.round, people.per_round)
    owner = np.repeat(np.arange(people.clients), np.diff(people.start))
    there = np.zeros(people.clients, np.bool_)
    there[cohort.clients] = True
    heads: Bools = send == 1
    if people.person is not None:  # an item is shared by all of its rows here or by none
        key = owner * np.int64(cohort.info.items) + people.item
        heads &= ~np.isin(key, key[~heads])
    shared: Bools = heads & there[owner] & valued(method, people.value)
    return shared


def disclose(people: Population, shared: Bools, tally: Tally) -> None:
    """Write down which rows have left their clients for the first time."""
    before = tally.sent.astype(np.bool_)
    new = shared & ~before
    tally.sent[shared] = 1
    owner = np.repeat(np.arange(people.clients), np.diff(people.start))
    tally.disclosed += np.bincount(owner[new], minlength=people.clients)


def _through(cohort: CohortRound, chain: CompiledChannel, table: str, sums: Longs | None) -> Total:
    """What a channel makes of the sum of a table, by row; None: nothing travels but the count of devices."""
    total = np.zeros(chain.words, np.int64)
    total[0] = len(cohort.clients)
    if sums is not None:
        place = chain.vector_slice(table, cohort.round).place
        total[place[place >= 0]] = sums[place >= 0]
    return chain.sum_up(total, cohort.round)
