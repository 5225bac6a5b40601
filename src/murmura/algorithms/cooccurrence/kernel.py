"""The compiled paths: the counts and the pairs of all clients at once, exact ones and normalised ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from murmura.algorithms.cooccurrence.cooccurrence import Cooccurrence, bit_places, layout
from murmura.algorithms.cooccurrence.item_model import evenly
from murmura.algorithms.cooccurrence.private import PrivateCooccurrence
from murmura.baselines.information import RankingSettings
from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.contract import FederationInfo, Phase, RoundContext, Total
from murmura.core.kernel import CohortRound, CompiledChannel
from murmura.core.population import Population, States, Tally
from murmura.core.update import SparseRows, Update
from murmura.kernels.client_blocks import draw_consent
from murmura.kernels.cohort_kernel import CohortKernel
from murmura.kernels.proofs.field import Elements

CLIENTS = 1024  # whose bits are written at once


class PersonRows(NamedTuple):
    """Who shares what: client u has persons first[u] .. first[u + 1] - 1, person v ranks start[v] .. ."""

    first: Longs  # (clients + 1,)
    start: Longs  # (persons + 1,)
    rank: Ints  # ascending for each person


class CooccurrenceKernel(CohortKernel[Cooccurrence]):
    """All clients of an exchange at once, in constant memory; a client's own loop ranks as fast."""

    in_blocks: ClassVar[bool] = False
    weighs: ClassVar[bool] = False

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Counts and pairs, also where no pairs are asked for."""
        return True

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone."""
        self.algorithm.check_rows(people.value, people.time)
        return {"counted": np.zeros((people.clients, -(-info.people * info.items // 8)), np.uint8)}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """How often each item is shared; or each pair of what was counted."""
        shared = shared_rows(cohort, self.algorithm)
        if cohort.phase.name == "counts":
            return self._counts(cohort, shared, states, tally)
        return self._pairs(cohort, shared, states)

    def _counts(
        self, cohort: CohortRound, shared: Bools, states: States, tally: Tally
    ) -> tuple[Total, Mapping[str, int]]:
        info, people = cohort.info, cohort.people
        owner, place = owners(people), bit_places(people, info)
        (said,) = np.nonzero(shared)
        persons = owner * np.int64(info.people) + place // max(1, info.items)
        shared[said] = evenly(persons[said], self.algorithm.cap)
        for first in range(0, people.clients, CLIENTS):
            block = slice(first, min(first + CLIENTS, people.clients))
            rows = slice(people.start[block.start], people.start[block.stop])
            mine = shared[rows]
            bits = np.zeros((block.stop - block.start, 8 * states["counted"].shape[1]), np.bool_)
            bits[owner[rows][mine] - first, place[rows][mine]] = True
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
        sent = SparseRows(np.arange(len(words), dtype=np.int32), words[:, None])
        return Total(Update({"pairs": sent}), visits), {"pairs": visits * len(words)}

    def _packed(self, cohort: CohortRound, shared: Bools, states: States) -> Elements:
        """The sum of the words of a part."""
        people, counts = cohort.people, cohort.info.counts
        assert counts is not None
        ranked = layout(counts, self.algorithm.least)
        place = bit_places(people, cohort.info)
        bit = (7 - place % 8).astype(np.uint8)
        counted = (states["counted"][owners(people), place // 8] >> bit) & 1 == 1
        rank = np.full(cohort.info.items, -1, np.int32)
        rank[ranked.items] = np.arange(len(ranked), dtype=np.int32)
        rows = person_rows(people, shared & counted & (rank[people.item] >= 0), rank)
        ranks = rows.rank.astype(np.int64)
        totals: Elements = np.zeros((cohort.workers, ranked.pairs.words), np.uint64)

        def work(worker: int, first: int, last: int) -> None:
            ranked.pairs.add_histories(rows.start[first : last + 1], ranks, totals[worker])

        self.in_parallel(work, len(rows.start) - 1, cohort.workers)
        words: Elements = totals.sum(axis=0)[self.algorithm.words_of(ranked, cohort.phase.name)]
        return words

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone: nothing to do."""
        return {"counted": states["counted"]}


class PrivateCooccurrenceKernel(CohortKernel[PrivateCooccurrence]):
    """All clients of a normalised exchange where each person has one weight; others take the plain loop."""

    in_blocks: ClassVar[bool] = False
    weighs: ClassVar[bool] = False

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Only through a channel: floating-point sums have an order."""
        return channel

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone: nothing."""
        self.algorithm.check_rows(people.value, people.time)
        return {}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """What the clients of a round add to the counts or to the pairs."""
        assert cohort.chain is not None
        people, chain, counts = cohort.people, cohort.chain, cohort.phase.name == "counts"
        shared = shared_rows(cohort, self.algorithm)
        weighted, items = chain.weighted, cohort.info.listed if counts else self.algorithm.core(cohort.info)
        assert weighted is not None
        if counts:
            disclose(people, shared, tally)
            tally.item_rows[chain.block(cohort.round)] += len(cohort.clients)
        rank = np.full(cohort.info.items, -1, np.int32)
        rank[items] = np.arange(len(items), dtype=np.int32)
        rows = person_rows(people, shared & (rank[people.item] >= 0), rank)
        ranks = rows.rank.astype(np.int64)

        def work(worker: int, first: int, last: int, total: Longs) -> None:
            if first < last:  # people of clients between them, who take no part, share nothing
                whose = rows.first[cohort.clients[first] : cohort.clients[last - 1] + 2]
                begins = rows.start[whose[0] : whose[-1] + 1]
                weighted.add_histories(whose, begins, ranks, total[1:].view(np.uint64))

        return self.channel_sum(cohort, chain, work), {}

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone: nothing to do."""
        return {}


def owners(people: Population) -> Longs:
    """(rows of all clients,) whose row each one is."""
    return np.repeat(np.arange(people.clients), np.diff(people.start))


def shared_rows(cohort: CohortRound, method: RankingSettings) -> Bools:
    """(rows of all clients,) which rows of the cohort speak in this exchange."""
    people = cohort.people
    send = draw_consent(people.start, people.consent, people.secrets, cohort.round, people.per_round)
    owner = owners(people)
    there = np.zeros(people.clients, np.bool_)
    there[cohort.clients] = True
    heads: Bools = send == 1
    if people.person is not None:  # an item is shared by all of its rows here or by none
        key = owner * np.int64(cohort.info.items) + people.item
        heads &= ~np.isin(key, key[~heads])
    shared: Bools = heads & there[owner] & method.takes(people.value)
    return shared


def person_rows(people: Population, keep: Bools, rank: Ints) -> PersonRows:
    """The ranks of what every person of every client shares, ascending."""
    owner = owners(people)[keep]
    person = np.zeros(len(owner), np.int32) if people.person is None else people.person[keep]
    ranks = rank[people.item[keep]]
    order = np.lexsort((ranks, person, owner))
    whose = np.stack([owner[order], person[order]])
    begins = np.flatnonzero(np.any(np.diff(whose, axis=1, prepend=-1) != 0, axis=0))
    start = np.append(begins, len(order)).astype(np.int64)
    first = np.searchsorted(whose[0][begins], np.arange(people.clients + 1)).astype(np.int64)
    return PersonRows(first, start, ranks[order])


def disclose(people: Population, shared: Bools, tally: Tally) -> None:
    """Write down which rows have left their clients for the first time."""
    new = shared & ~tally.sent.astype(np.bool_)
    tally.sent[shared] = 1
    tally.disclosed += np.bincount(owners(people)[new], minlength=people.clients)


def _through(cohort: CohortRound, chain: CompiledChannel, table: str, sums: Longs | Elements | None) -> Total:
    """What a channel makes of the sum of a table, by row; None: nothing travels but the count of devices."""
    total = np.zeros(chain.words, np.int64)
    total[0] = len(cohort.clients)
    if sums is not None:
        place = chain.vector_slice(table, cohort.round).place
        total[place[place >= 0]] = sums.astype(np.int64)[place >= 0]  # words of the field by their 64 bits
    return chain.sum_up(total, cohort.round)
