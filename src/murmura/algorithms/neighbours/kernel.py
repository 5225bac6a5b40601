"""The compiled path: the rows of all clients at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from murmura.algorithms.cooccurrence.item_model import evenly
from murmura.algorithms.cooccurrence.kernel import disclose, owners, shared_rows
from murmura.algorithms.neighbours import item_lists
from murmura.algorithms.neighbours.fed_neighbours import FedNeighbours, known_counts
from murmura.algorithms.neighbours.loops import (
    HeldRows,
    PairLoop,
    SketchLoop,
    add_pairs,
    add_sketches,
    clients_without_bins,
)
from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.claims import RowsClaim
from murmura.core.contract import FederationInfo, Phase, RoundContext, Total
from murmura.core.kernel import CohortRound
from murmura.core.population import Population, States, Tally
from murmura.core.update import SparseRows, Update
from murmura.kernels.cohort_kernel import CohortKernel
from murmura.kernels.point_functions.bins import assigned, place_table
from murmura.kernels.point_functions.sizes import Bins
from murmura.kernels.proofs.field import Elements


class NeighboursKernel(CohortKernel[FedNeighbours]):
    """All clients of an exchange; what is taken of a client is one bit for each of its rows."""

    in_blocks: ClassVar[bool] = False
    weighs: ClassVar[bool] = False

    def covers(self, phase: Phase, channel: bool) -> bool:
        """All of them: sums of whole numbers."""
        return True

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone."""
        self.algorithm.check_rows(people.value, people.time)
        return {"counted": np.zeros((people.clients, -(-info.items // 8)), np.uint8)}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """A row for each item that each client shares."""
        people, info, name = cohort.people, cohort.info, cohort.phase.name
        owner, shared = owners(people), shared_rows(cohort, self.algorithm)
        if name == "counts":
            rows = _first_of_each(people, info, shared)
            (said,) = np.nonzero(rows)
            rows[said] = evenly(owner[said], self.algorithm.cap)
            self._remember(cohort, states, owner[rows], people.item[rows])
            disclose(people, _of_items(people, info, owner[rows], people.item[rows]), tally)
            active = np.ones(int(rows.sum()), np.bool_)
        else:
            item = people.item
            bit = states["counted"][owner, item // 8] >> (7 - item % 8).astype(np.uint8) & 1
            rows = _first_of_each(people, info, shared & (bit == 1))
            active = self.algorithm.part(known_counts(cohort.model))[item[rows]]
        start = np.zeros(people.clients + 1, np.int64)
        np.cumsum(np.bincount(owner[rows], minlength=people.clients), out=start[1:])
        own = HeldRows(start, people.item[rows], active, np.ones(len(active), np.bool_))
        table = cohort.phase.sends.tables[0]
        if cohort.chain is not None:
            own = own._replace(placed=_placed(own, cohort))
            tally.item_rows[cohort.chain.block(cohort.round)] += len(cohort.clients)
            place = cohort.chain.vector_slice(name, cohort.round).place
            total = np.zeros(cohort.chain.words, np.int64)
            self._add(cohort, own, place, total.view(np.uint64))
            total[0] = len(cohort.clients)
            return cohort.chain.sum_up(total, cohort.round), {}
        tally.item_rows += np.bincount(own.item, minlength=info.items)
        words: Elements = np.zeros(info.items * table.width, np.uint64)
        self._add(cohort, own, np.arange(info.items, dtype=np.int64) * table.width, words)
        index = np.unique(own.item)
        values = words.reshape(-1, table.width)[index].astype(table.dtype)
        return Total(Update({name: SparseRows(index, values)}), len(cohort.clients)), {name: len(own.item)}

    def _add(self, cohort: CohortRound, own: HeldRows, place: Longs, total: Elements) -> None:
        method, info, model = self.algorithm, cohort.info, cohort.model
        np.add.at(total, place[own.item[own.placed]], np.uint64(1))
        if cohort.phase.name == "counts":
            return
        if cohort.phase.name == "pairs":
            counters = method.counters(known_counts(model))
            named = item_lists.unpacked(model["candidates"], info.items, method.most_candidates)
            most = int(np.diff(own.start).max(initial=0))
            weights = np.array([method.person_weights.of(n) for n in range(most + 1)], np.uint64)
            return add_pairs(
                cohort.clients, own, PairLoop(named, counters.bases, counters.digits, weights), place, total
            )
        numbers = method.sketch_numbers(info)
        context = RoundContext(info, cohort.phase.name, cohort.round, model)
        rows = method.public_rows(context, np.arange(info.items, dtype=np.int32))
        how = SketchLoop(rows, numbers.levels, np.uint64(numbers.base), numbers.digits)
        secrets = cohort.people.secrets
        add_sketches(cohort.clients, own, how, secrets, np.uint64(cohort.round), place, total)

    def _remember(self, cohort: CohortRound, states: States, owner: Longs, item: Ints) -> None:
        states["counted"][cohort.clients] = 0
        np.bitwise_or.at(states["counted"], (owner, item // 8), (128 >> (item % 8)).astype(np.uint8))

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone: nothing to do."""
        return {"counted": states["counted"]}


def _first_of_each(people: Population, info: FederationInfo, shared: Bools) -> Bools:
    """Of the rows that a client shares one for each item, in the order of items within a client."""
    if people.person is None:
        return shared.copy()
    key = owners(people) * np.int64(info.items) + people.item
    (said,) = np.nonzero(shared)
    first = np.zeros(len(shared), np.bool_)
    first[said[np.unique(key[said], return_index=True)[1]]] = True
    return first


def _of_items(people: Population, info: FederationInfo, owner: Longs, item: Ints) -> Bools:
    """All rows of these items of these clients."""
    key = owners(people) * np.int64(info.items) + people.item
    there: Bools = np.isin(key, owner * np.int64(info.items) + item)
    return there


def _placed(own: HeldRows, cohort: CohortRound) -> Bools:
    """Which rows find a bin, by `assigned` where not all of a client's do."""
    claim, placed = cohort.phase.claim, np.ones(len(own.item), np.bool_)
    assert isinstance(claim, RowsClaim)
    bins, listed = Bins(len(claim.items), claim.cap), np.full(cohort.info.items, -1, np.int64)
    listed[claim.items] = np.arange(len(claim.items))
    table = place_table(bins)
    bin_of = (table // bins.width)[listed]
    for client in np.flatnonzero(clients_without_bins(own, bin_of, bins.count)).tolist():
        mine = slice(own.start[client], own.start[client + 1])
        found = assigned(bins, listed[own.item[mine]].tolist())
        placed[mine] = np.isin(np.arange(mine.stop - mine.start), [row for row, _ in found.values()])
    return placed
