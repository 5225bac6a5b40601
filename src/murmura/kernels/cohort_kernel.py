"""The base of compiled paths: a method writes the loop over some clients, this does what is around it.

Threads, blocks, the channel or a plain sum, weights and the tally are here. The blocks of a cohort do not
depend on the number of workers, and their sums are added in order; the sum of a channel is of whole numbers. So
workers change no bit. docs/compiled.md is the guide.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Bools, Longs
from murmura.core.contract import Algorithm, FederationInfo, Phase, RoundContext, Total
from murmura.core.kernel import CohortRound, CompiledChannel, Kernel, parts_of
from murmura.core.message import TableSpec
from murmura.core.population import Population, States, Tally, stacked
from murmura.core.update import SparseRows, Update
from murmura.kernels.client_blocks import (
    ClientBlock,
    Disclosed,
    FlatPopulation,
    Sums,
    block_of,
    mark_own,
    merge_blocks,
)

A = TypeVar("A", bound=Algorithm)
T = TypeVar("T")
BITS = 2**28  # bytes all tables of own items of a process may take; what is beyond is searched
_LOCK, _TABLES = threading.Lock(), weakref.WeakValueDictionary[int, NDArray[np.uint64]]()


class CohortKernel(Kernel, Generic[A]):
    """The compiled path of a method whose clients send rows of one table.

    A method writes `send`, and `scratch` where its loop needs buffers. What a client does by itself, before and
    after training, runs in plain code, client by client, unless the method has a loop for that too.
    """

    weighs: ClassVar[bool] = True
    in_blocks: ClassVar[bool] = True

    def __init__(self, algorithm: A) -> None:
        self.algorithm = algorithm
        self._workspace: CohortWorkspace | None = None
        self._threads: tuple[int, ThreadPoolExecutor] | None = None

    def send(self, cohort: CohortRound, states: States, scratch: Any, block: ClientBlock) -> None:
        """Call the compiled loop over the clients of a block: it sends their rows and changes their states."""
        raise NotImplementedError

    def scratch(self, info: FederationInfo, people: FlatPopulation) -> Any:
        """The buffers of one worker, made once for a federation; by default none."""
        return None

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Sums of one table, through a channel or not."""
        return phase.combine == "sum" and len(phase.sends.tables) == 1 and not phase.sends.scalars

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone."""
        first = self.algorithm.client_init
        return stacked([first(info, people.history(u, 0), people.rng(u, 0)) for u in range(people.clients)])

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`client_ready` of everyone, in new arrays."""
        made = []
        for u in range(people.clients):
            state = {name: stack[u] for name, stack in states.items()}
            history, rng = people.history(u, context.round), people.rng(u, context.round)
            made.append(self.algorithm.client_ready(context, state, history, rng))
        return stacked(made)

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """The sum of what the clients of a round send, in blocks or through a channel."""
        table, space = cohort.phase.sends.tables[0], self.workspace(cohort.info, cohort.people, cohort.workers)
        if cohort.chain is not None:
            return self._through_channel(cohort, cohort.chain, table, states, tally), {}
        blocks = len(cohort.bounds) - 1
        whole = _whole(cohort, table, space.people, tally, space.sums(blocks, table))

        def work(worker: int, first: int, last: int) -> None:
            self.run_blocks(cohort, states, space.scratch[worker], whole, first, last)

        self.in_parallel(work, blocks, cohort.workers)
        sent, senders = space.merged(whole.sums)
        if table.space == "item":
            tally.item_rows[sent.index] += senders
        total = Total(Update({table.name: sent}), len(cohort.clients))
        return total, {table.name: int(senders.sum())}

    def run_blocks(
        self, cohort: CohortRound, states: States, scratch: Any, whole: ClientBlock, first: int, last: int
    ) -> None:
        """Blocks first to last, by one worker; `whole` has all clients and the sums of all blocks."""
        bounds = cohort.bounds
        for number in range(first, last):
            sums = block_of(whole.sums, number)
            self.send(cohort, states, scratch, _part(whole, bounds[number], bounds[number + 1], sums))

    def _through_channel(
        self, cohort: CohortRound, chain: CompiledChannel, table: TableSpec, states: States, tally: Tally
    ) -> Total:
        space = self.workspace(cohort.info, cohort.people, cohort.workers)
        sums, vector_slice = space.sums(cohort.workers, table), chain.vector_slice(table.name, cohort.round)
        whole = _whole(cohort, table, space.people, tally, sums)._replace(vector_slice=vector_slice)

        def work(worker: int, first: int, last: int, total: Longs) -> None:
            part = _part(whole, first, last, block_of(sums, worker))
            self.send(cohort, states, space.scratch[worker], part._replace(total=total))

        if table.space == "item":
            tally.item_rows[chain.block(cohort.round)] += len(cohort.clients)
        return self.channel_sum(cohort, chain, work)

    def channel_sum(
        self, cohort: CohortRound, chain: CompiledChannel, work: Callable[[int, int, int, Longs], None]
    ) -> Total:
        """The sum of a channel: work(worker, first, last, total) adds what clients first to last send."""
        totals = np.zeros((cohort.workers, chain.words), np.int64)
        clients = len(cohort.clients)
        self.in_parallel(lambda w, first, last: work(w, first, last, totals[w]), clients, cohort.workers)
        total = totals.sum(axis=0)
        total[0] = clients
        return chain.sum_up(total, cohort.round)

    def in_parallel(self, work: Callable[[int, int, int], T], n: int, workers: int) -> list[T]:
        """work(worker, first, last) of every worker, each on its part of n things."""
        if workers == 1:
            return [work(0, 0, n)]
        if self._threads is None or self._threads[0] != workers:
            self._threads = workers, ThreadPoolExecutor(workers)
        cuts = parts_of(n, workers)
        return list(self._threads[1].map(work, range(workers), cuts[:-1], cuts[1:]))

    def workspace(self, info: FederationInfo, people: Population, workers: int) -> CohortWorkspace:
        """What is kept between the rounds of one federation."""
        kept = self._workspace
        if kept is None or kept.population is not people or len(kept.scratch) != workers:
            self._workspace = None  # its table first, so that there is memory for the next
            flat = flat_population(info, people)
            self._workspace = CohortWorkspace(people, flat, [self.scratch(info, flat) for _ in range(workers)])
        assert self._workspace is not None
        return self._workspace


class CohortWorkspace:
    """The clients of one federation in flat arrays, the buffers of each worker, and those of a sum."""

    def __init__(self, population: Population, people: FlatPopulation, scratch: list[Any]) -> None:
        self.population, self.people, self.scratch = population, people, scratch
        self._sums: Sums | None = None
        self._merged: tuple[Bools, NDArray[Any], Longs] | None = None

    def sums(self, blocks: int, table: TableSpec) -> Sums:
        """Empty sums of a table for so many blocks."""
        shape = (blocks, table.rows, table.width)
        kept = self._sums
        if kept is None or kept.values.shape != shape or kept.values.dtype != table.dtype:
            touched, senders, last = (np.empty(shape[:2], np.int32) for _ in range(3))
            values, used = np.empty(shape, table.dtype), np.zeros(blocks, np.int64)
            kept = self._sums = Sums(np.full(shape[:2], -1, np.int32), touched, values, senders, last, used)
        return kept

    def merged(self, sums: Sums) -> tuple[SparseRows, Longs]:
        """The sum over blocks, which are empty afterwards, and how many clients sent each row."""
        _, rows, width = sums.values.shape
        kept = self._merged
        if kept is None or kept[1].shape != (rows, width) or kept[1].dtype != sums.values.dtype:
            total, many = np.empty((rows, width), sums.values.dtype), np.empty(rows, np.int64)
            kept = self._merged = np.zeros(rows, np.bool_), total, many
        touched, total, many = kept
        merge_blocks(sums, touched, total, many)
        index = np.flatnonzero(touched).astype(np.int32)
        touched[index] = False
        return SparseRows(index, total[index]), many[index]


def _whole(
    cohort: CohortRound, table: TableSpec, people: FlatPopulation, tally: Tally, sums: Sums
) -> ClientBlock:
    """All clients of a round as one block; weights that are all 1, which has its own code, are left out."""
    counted = cohort.weights is not None and not (cohort.weights == 1).all()
    weights = cohort.client_weights(table.dtype) if counted else None
    round, nothing = np.uint64(cohort.round), np.zeros(0, np.int64)
    return ClientBlock(cohort.clients, weights, round, people, disclosed_of(tally), sums, None, nothing)


def _part(whole: ClientBlock, first: int, last: int, sums: Sums) -> ClientBlock:
    """Some of the clients, and their sums."""
    weights = None if whole.weights is None else whole.weights[first:last]
    return whole._replace(clients=whole.clients[first:last], weights=weights, sums=sums)


def disclosed_of(tally: Tally) -> Disclosed:
    """The tally as compiled loops write it."""
    return Disclosed(tally.sent, tally.disclosed, tally.item_rows)


def _own_table(clients: int, words: int) -> NDArray[np.uint64]:
    """A table to mark everyone's items, a bit each; empty where the tables of this process would take too much.

    Shards are trained side by side and one after the other, each with a table of its own: it is the process
    that has a budget. Results do not depend on it.
    """
    with _LOCK:
        taken = sum(table.nbytes for table in _TABLES.values())
        fits = taken + clients * words * 8 <= BITS
        table = np.zeros((clients if fits else 0, words if fits else 0), np.uint64)
        _TABLES[id(table)] = table
    return table


def flat_population(info: FederationInfo, people: Population) -> FlatPopulation:
    """The population as compiled loops take it, with a table of own items where it fits."""
    own = _own_table(people.clients, (info.items + 63) // 64)
    if own.size:
        mark_own(people.start, people.item, own)
    everything = bool((people.consent == 1.0).all())
    fractional = not everything and not np.isin(people.consent, (0.0, 1.0)).all()
    return FlatPopulation(
        people.start,
        people.item,
        np.empty(0) if everything else people.consent,
        people.per_round,
        everything,
        bool(fractional),
        people.secrets,
        info.listed,
        own,
    )
