"""The path of a method that steps many clients at once: batches by length, sums, the tally.

Clients are visited in the order of their lengths, as many together as `batch_rows` padded rows hold; that
follows from the histories alone. A channel takes the vectors of single clients: there the plain loop runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from murmura.core.arrays import Ints, Longs
from murmura.core.client_batch import BatchRows, BatchUpdate, ClientBatch
from murmura.core.contract import Algorithm, FederationInfo, Phase, RoundContext, Total
from murmura.core.errors import FederationError
from murmura.core.kernel import CohortRound, Kernel
from murmura.core.population import Population, States, Tally, stacked
from murmura.core.rng import Words
from murmura.core.update import SparseRows, Update
from murmura.kernels.compiled import compiled
from murmura.kernels.philox import fill_streams


def batched(algorithm: Algorithm) -> BatchedKernel | None:
    """The path of a method that has `clients_step`; None: it has not."""
    return None if type(algorithm).clients_step is Algorithm.clients_step else BatchedKernel(algorithm)


class CompiledBatch(ClientBatch):
    """The same clients; the words of their streams are drawn by compiled code."""

    def words(self, purpose: int, n: int) -> Words:
        """(clients, n) the first words of every client's stream for one purpose."""
        out = np.empty((len(self), -(-n // 4) * 4), np.uint32)
        fill_streams(self.secrets, np.uint64(self.round), np.uint64(int(purpose)), out)
        return out[:, :n]


class BatchedKernel(Kernel):
    """Many clients in one call of `clients_step`."""

    path: ClassVar[str] = "batched"
    in_blocks: ClassVar[bool] = False
    weighs: ClassVar[bool] = False

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Sums without a channel."""
        return phase.combine == "sum" and not channel

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone, client by client."""
        first = self.algorithm.client_init
        return stacked([first(info, people.history(u, 0), people.rng(u, 0)) for u in range(people.clients)])

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone, in new arrays."""
        ready: dict[str, NDArray[Any]] = {}
        everyone = np.arange(people.clients, dtype=np.int32)
        with threadpool_limits(1, "blas"):
            for batch in self.batches(people, everyone, context.round):
                own = {name: stack[batch.clients] for name, stack in states.items()}
                for name, value in self.algorithm.clients_ready(context, own, batch).items():
                    if name not in ready:
                        ready[name] = np.empty((people.clients, *value.shape[1:]), value.dtype)
                    ready[name][batch.clients] = value
        return ready

    def batches(self, people: Population, clients: Ints, round: int) -> Iterator[CompiledBatch]:
        """All clients, those with the fewest rows first, some at a time."""
        lengths = people.start[clients + 1] - people.start[clients]
        order, first = np.argsort(lengths, kind="stable"), 0
        padded = lengths[order]
        while first < len(order):
            last = first + 1
            while last < len(order) and (last + 1 - first) * padded[last] <= self.algorithm.batch_rows:
                last += 1
            yield CompiledBatch.of(people, clients[order[first:last]], round)
            first = last

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """The sum of what the clients of a round send, and how many rows of each table it is the sum of."""
        tables = cohort.phase.sends.tables
        sums = {table.name: np.zeros((table.rows, table.width), table.dtype) for table in tables}
        senders = {table.name: np.zeros(table.rows, np.int64) for table in tables}
        scalars = dict.fromkeys(cohort.phase.sends.scalars, 0.0)
        context = RoundContext(cohort.info, cohort.phase.name, cohort.round, cohort.model)
        with threadpool_limits(1, "blas"):
            for batch in self.batches(cohort.people, cohort.clients, cohort.round):
                own = {name: stack[batch.clients] for name, stack in states.items()}
                kept, update = self.algorithm.clients_step(context, own, batch)
                check_batch(cohort.phase, update, batch)
                for name, value in kept.items():
                    states[name][batch.clients] = value
                for name, rows in update.tables.items():
                    index = all_rows(rows) if rows.index is None else rows.index
                    add_batch(index, rows.values, sums[name], senders[name])
                for name, column in update.scalars.items():
                    scalars[name] += float(column.sum())
                self._disclose(cohort, update, batch, tally)
        for table in tables:
            tally.item_rows += senders[table.name] if table.space == "item" else 0
        there = {name: np.flatnonzero(many).astype(np.int32) for name, many in senders.items()}
        summed = {name: SparseRows(rows, sums[name][rows]) for name, rows in there.items()}
        counts = {name: int(many.sum()) for name, many in senders.items()}
        return Total(Update(summed, scalars), len(cohort.clients)), counts

    def _disclose(self, cohort: CohortRound, update: BatchUpdate, batch: ClientBatch, tally: Tally) -> None:
        """Note which positives leave; a method with rules of its own is asked client by client."""
        own, people = type(self.algorithm).client_discloses, cohort.people
        first = people.start[batch.clients]
        if own is Algorithm.client_discloses:
            shown = np.zeros(batch.item.shape, np.bool_)
            for table in cohort.phase.sends.tables:
                index = update.tables[table.name].index
                if table.space == "item" and index is not None:
                    mark_sent(index, batch.item, table.rows, shown)
            shown &= batch.held
        else:
            shown = np.zeros(batch.item.shape, np.bool_)
            for place, client in enumerate(batch.clients.tolist()):
                history, rng = people.history(client, cohort.round), people.rng(client, cohort.round)
                found = self.algorithm.client_discloses(cohort.phase, update.of(place), history, rng)
                shown[place, : len(found)] = found
        rows = np.add.outer(first, np.arange(batch.item.shape[1]))[shown]
        who = np.repeat(batch.clients, shown.sum(1))
        np.add.at(tally.disclosed, who, 1 - tally.sent[rows].astype(np.int64))
        tally.sent[rows] = 1


def all_rows(rows: BatchRows) -> Ints:
    """The index of a dense table, which every client sends whole."""
    many, places = rows.values.shape[:2]
    return np.ascontiguousarray(np.broadcast_to(np.arange(places, dtype=np.int32), (many, places)))


def check_batch(phase: Phase, update: BatchUpdate, batch: ClientBatch) -> None:
    """Refuse what is not declared, not finite, or of an item its owner does not share."""
    phase.sends.check(update.of(0))
    for table in phase.sends.tables:
        rows = update.tables[table.name]
        index = all_rows(rows) if rows.index is None else rows.index
        if (row := first_wrong(index, rows.values, table.rows)) >= 0:
            raise FederationError(
                f"the rows of '{table.name}' must be below {table.rows}, ascending for each client and finite, "
                f"but row {row} is not; use NO_ROW for none."
            )
        unshared = batch.held & (batch.consent == 0)
        if table.space == "item" and rows.index is not None and unshared.any():
            sent = np.zeros(batch.item.shape, np.bool_)
            mark_sent(rows.index, batch.item, table.rows, sent)
            if (sent & unshared).any():
                raise FederationError(
                    f"the table '{table.name}' must hold rows of items their owners share, but has others."
                )


@compiled
def add_batch(index: Ints, values: NDArray[Any], total: NDArray[Any], senders: Longs) -> None:
    """Add the rows of every client of a batch to the sum, in the order of the batch."""
    for c in range(index.shape[0]):
        for place in range(index.shape[1]):
            row = index[c, place]
            if row >= 0:
                senders[row] += 1
                for f in range(values.shape[2]):
                    total[row, f] += values[c, place, f]


@compiled
def first_wrong(index: Ints, values: NDArray[Any], rows: int) -> int:
    """The first row that is not ascending, not below `rows` or not finite; -1: none."""
    for c in range(index.shape[0]):
        last = -1
        for place in range(index.shape[1]):
            row = index[c, place]
            if row >= 0:
                if row <= last or row >= rows:
                    return int(row)
                for f in range(values.shape[2]):
                    if not np.isfinite(values[c, place, f]):
                        return int(row)
                last = row
    return -1


@compiled
def mark_sent(index: Ints, item: Ints, items: int, shown: NDArray[np.bool_]) -> None:
    """Mark the rows of every client's history whose items are among those it sends."""
    last = np.full(items, -1, np.int64)
    for c in range(index.shape[0]):
        for place in range(index.shape[1]):
            if index[c, place] >= 0:
                last[index[c, place]] = c
        for place in range(item.shape[1]):
            if last[item[c, place]] == c:
                shown[c, place] = True
