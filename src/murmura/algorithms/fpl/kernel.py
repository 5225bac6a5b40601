"""FPL's compiled path, on `kernels.fpl*`; its plain twin is `algorithms.fpl`."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.fpl.loops import run_single_triples, stochastic_rounds
from murmura.core.arrays import Bools, Ints, Longs
from murmura.core.contract import FederationInfo, Phase, RoundContext, ServerState, Total
from murmura.core.kernel import CohortRound, CompiledChannel, Kernel, parts_of
from murmura.core.population import Population, States, Tally
from murmura.core.rng import Purpose, Words
from murmura.core.update import Arrays, SparseRows, Update
from murmura.kernels.fpl.arithmetic import (
    Disclosed,
    FplModel,
    FplRates,
    Sums,
    VisitRules,
    Workspace,
    block_of,
)
from murmura.kernels.fpl.cohorts import (
    count_shared,
    merge_blocks,
    pass_block,
    run_blocks,
    run_channel_round,
    single_rounds,
    upload_shared_counts,
)
from murmura.kernels.fpl.triples import Draws, FlatPopulation, mark_own
from murmura.kernels.random.draws import initial_rows

if TYPE_CHECKING:
    from murmura.algorithms.fpl.fpl import FPL

Values = NDArray[Any]
BITS = 2**28  # bytes all tables of own items of a process may take; what is beyond is searched
_LOCK, _TABLES = threading.Lock(), weakref.WeakValueDictionary[int, NDArray[np.uint64]]()


class FPLKernel(Kernel):
    """Runs many clients and many rounds of one federation; keeps its room between calls."""

    weighs: ClassVar[bool] = True
    in_blocks: ClassVar[bool] = True

    def __init__(self, algorithm: FPL) -> None:
        self.algorithm = algorithm
        self._room: _Room | None = None

    def sequential(self, phase: Phase) -> bool:
        """Training whose server adds gradients as they come."""
        a = self.algorithm
        return phase.name == "train" and a.optimiser == "sum" and not a.trust_region

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """p_u of everyone from N(0, 0.1^2)."""
        from murmura.algorithms.fpl.federank import SPREAD

        P = np.empty((people.clients, self.algorithm.factors), self.algorithm.precision)
        initial_rows(people.secrets, SPREAD, P)
        return {"p": P}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """The rows of items that the clients of a round send, or their counts before training, added up."""
        room = self._at(cohort.info, cohort.people, cohort.workers)
        if cohort.phase.name == "prior":
            total, rows = self._prior(room, cohort, tally)
        elif cohort.chain is not None:
            total, rows = self._through(room, cohort, cohort.chain, states, tally), 0
        else:
            total, rows = self._cohort(room, cohort, states, tally)
        return total, {cohort.phase.sends.tables[0].name: rows}

    def run_rounds(
        self,
        info: FederationInfo,
        server: ServerState,
        states: States,
        people: Population,
        tally: Tally,
        rounds: range,
        server_secret: Words,
    ) -> tuple[ServerState, int]:
        """Rounds of one client each in one compiled call."""
        a, room = self.algorithm, self._at(info, people, 1)
        Q, b = server.model["Q"].copy(), server.model["b"].copy()
        step = Q.dtype.type(a.server_alpha or a.alpha)
        reach = (rounds.start, len(rounds), server_secret, step)
        work = room.workspace(0, states["p"], {"Q": Q, "b": b}, tally)
        if room.one_triple:
            rows = stochastic_rounds(*reach, work)
        else:
            rows = single_rounds(*reach, work, block_of(room.sums(1), 0))
        return ServerState({"Q": Q, "b": b}, a.counted(server.private, len(rounds))), int(rows)

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`refresh` passes of everyone over the final model."""
        P, passes = states["p"].copy(), self.algorithm.refresh
        if passes:
            room, nothing = self._at(context.info, people, workers), Tally.empty(people, context.info.items)
            cuts, when = (
                parts_of(people.clients, workers),
                (np.uint64(context.round), np.uint64(Purpose.REFRESH)),
            )

            def work(w: int) -> int:
                space = room.workspace(w, P, context.model, nothing)
                pass_block(cuts[w], cuts[w + 1], passes, *when, space)
                return 0

            room.side_by_side(work)
        return {"p": P}

    def score(self, context: RoundContext, states: States, users: Ints) -> Values:
        """b_i + p_u . q_i of a block of users."""
        scores: Values = states["p"][users] @ context.model["Q"].T
        scores += context.model["b"]
        return scores

    def _cohort(self, room: _Room, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, int]:
        clients, bounds = cohort.clients, cohort.bounds
        blocks = len(bounds) - 1
        out, cuts = room.sums(blocks), parts_of(blocks, room.workers)
        run = run_single_triples if room.one_triple else run_blocks
        weights = self._weights(cohort)

        def work(w: int) -> int:
            space = room.workspace(w, states["p"], cohort.model, tally, cohort.round)
            return run(cuts[w], cuts[w + 1], bounds, clients, weights, cohort.round, space, out)

        rows = room.side_by_side(work)
        touched, total, senders = room.merged
        merge_blocks(out, touched, total, senders)
        index = np.flatnonzero(touched).astype(np.int32)
        touched[index] = False
        tally.item_rows[index] += senders[index]
        values = total[index]
        if weights is None and room.rules.counted:
            values[:, -1] = senders[index]
        return Total(Update({"items": SparseRows(index, values)}), len(clients)), sum(rows)

    def _through(
        self, room: _Room, cohort: CohortRound, chain: CompiledChannel, states: States, tally: Tally
    ) -> Total:
        """The sum of a cohort whose updates go through a channel."""
        clients, round, weights = cohort.clients, cohort.round, self._weights(cohort)
        cuts, out = parts_of(len(clients), room.workers), room.sums(room.workers)
        vector_slice, totals = (
            chain.vector_slice("items", round),
            np.zeros((room.workers, chain.words), np.int64),
        )

        def work(w: int) -> int:
            space = room.workspace(w, states["p"], cohort.model, tally, round)
            sums = block_of(out, w)
            reach = (cuts[w], cuts[w + 1], clients, weights, round)
            run_channel_round(*reach, vector_slice, space, sums, totals[w])
            return 0

        room.side_by_side(work)
        tally.item_rows[chain.block(round)] += len(clients)
        return chain.sum_up(totals.sum(axis=0), round)

    def _weights(self, cohort: CohortRound) -> Values | None:
        """The weights of a cohort, in the model's precision; None where all are 1, which has its own code."""
        if cohort.weights is None or (cohort.weights == 1).all():
            return None
        return cohort.client_weights(self.algorithm.precision)

    def _prior(self, room: _Room, cohort: CohortRound, tally: Tally) -> tuple[Total, int]:
        """How many clients share each item."""
        round, chain, answers = np.uint64(cohort.round), cohort.chain, np.zeros(room.clients, np.bool_)
        answers[cohort.clients] = True
        if chain is not None:
            sums, vector_slice = np.zeros(chain.words, np.int64), chain.vector_slice("counts", cohort.round)
            upload_shared_counts(room.people, answers, round, vector_slice, sums, disclosed_of(tally))
            tally.item_rows[chain.block(cohort.round)] += int(sums[0])
            return chain.sum_up(sums, cohort.round), 0
        counts = np.zeros(cohort.info.items, np.int64)
        rows = count_shared(room.people, answers, round, disclosed_of(tally), counts)
        tally.item_rows += counts
        index = np.flatnonzero(counts).astype(np.int32)
        shared = SparseRows(index, counts[index, None].astype(self.algorithm.precision))
        return Total(Update({"counts": shared}), len(cohort.clients)), int(rows)

    def _at(self, info: FederationInfo, people: Population, workers: int) -> _Room:
        if self._room is None or self._room.population is not people or self._room.workers != workers:
            self._room = None  # its table first, so that there is room for the next
            self._room = _Room(self.algorithm, info, people, workers)
        return self._room


class _Room:
    """The room to work in for one federation."""

    def __init__(self, a: FPL, info: FederationInfo, people: Population, workers: int) -> None:
        self.population, self.workers, self.items = people, workers, info.items
        self.clients = people.clients
        counted = a.optimiser == "per-contributor"
        self.dtype, self.width = np.dtype(a.precision), a.factors + 1 + counted
        alpha, user, positive, negative = map(self.dtype.type, a.rates())
        self.rates = FplRates(alpha, user, positive, negative, self.dtype.type(1), alpha, a.rate_decay)
        self.alpha_at = partial(a.rate_at, a.alpha)
        rows = np.diff(people.start)
        triples = a.mean_triples(info, rows, people.secrets)
        self.rules = VisitRules(triples, a.warm, a.version == "equations", counted)
        most, rounded_up = int(rows.max(initial=1)), int(np.ceil(triples.max(initial=1.0)))
        longest = max(most * max(1, a.warm, a.refresh), rounded_up)
        self.draws = [
            Draws(np.empty(longest, np.int64), np.empty(longest, np.int32), np.ones(longest, np.uint8),
                  np.empty(512, np.uint32))
            for _ in range(workers)
        ]  # fmt: skip
        self.people = flat_population(info, people)
        self._sums: Sums | None = None

    @property
    def one_triple(self) -> bool:
        """Whether a visit is one triple and nothing else."""
        return bool((self.rules.triples == 1).all()) and not self.rules.warm

    def workspace(self, worker: int, P: Values, model: Arrays, tally: Tally, round: int = 0) -> Workspace:
        """What one worker reads and writes in a round; many rounds at once begin with round 0."""
        alpha = self.dtype.type(self.alpha_at(round))
        learned = FplModel(P, model["Q"], model["b"], self.rates._replace(alpha=alpha))
        return Workspace(learned, self.people, self.rules, self.draws[worker], disclosed_of(tally))

    def sums(self, blocks: int) -> Sums:
        """Empty sums for so many blocks."""
        if self._sums is None or len(self._sums.used) != blocks:
            shape = (blocks, self.items)
            touched, senders, last = (np.empty(shape, np.int32) for _ in range(3))
            values, used = np.empty((*shape, self.width), self.dtype), np.zeros(blocks, np.int64)
            self._sums = Sums(np.full(shape, -1, np.int32), touched, values, senders, last, used)
        return self._sums

    @cached_property
    def merged(self) -> tuple[Bools, Values, Longs]:
        """Room for the sum over blocks: which rows are in use, the rows, how many clients sent each."""
        total = np.empty((self.items, self.width), self.dtype)
        return np.zeros(self.items, np.bool_), total, np.empty(self.items, np.int64)

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """The workers."""
        return ThreadPoolExecutor(self.workers)

    def side_by_side(self, work: Any) -> list[int]:
        """work(0), work(1), ... one per worker."""
        return [work(0)] if self.workers == 1 else list(self.pool.map(work, range(self.workers)))


def disclosed_of(tally: Tally) -> Disclosed:
    """The tally as compiled loops write it."""
    return Disclosed(tally.sent, tally.disclosed, tally.item_rows)


def _own_table(clients: int, words: int) -> NDArray[np.uint64]:
    """Room to mark everyone's items, a bit each; none where the tables of this process would take too much.

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
