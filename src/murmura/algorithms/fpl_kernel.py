"""FPL's compiled path, on `kernels.fpl*`; its plain twin is `algorithms.fpl`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from murmura.core.arrays import Ints
from murmura.core.compiled_path import Carrier, Population, States, Stretch, Tally
from murmura.core.federation import Call, Phase, Public, ServerState, Total
from murmura.core.rng import Purpose, Rng
from murmura.core.update import Arrays, SparseRows, Update
from murmura.kernels.draws import initial_rows
from murmura.kernels.fpl import Rates
from murmura.kernels.fpl_cohorts import Sums, Visit, count_shared, merge_blocks, pass_block, run_blocks
from murmura.kernels.fpl_parallel import run_single_triples
from murmura.kernels.fpl_posts import post_shared, run_posts
from murmura.kernels.fpl_single import single_rounds
from murmura.kernels.fpl_stochastic import stochastic_rounds
from murmura.kernels.triples import Draws, People, mark_own

if TYPE_CHECKING:
    from murmura.algorithms.fpl import FPL

Values = NDArray[Any]
BITS = 2**28  # bytes the table of own items may take; above it they are searched
BLOCKS, CLIENTS = 16, 64  # a cohort is cut into at most so many blocks, of at least so many clients


class FPLKernel:
    """Runs many clients and many rounds of one federation; keeps its room between calls."""

    def __init__(self, algorithm: FPL) -> None:
        self.algorithm = algorithm
        self._desk: _Desk | None = None

    def covers(self, phase: Phase, cohort: int) -> bool:
        """Everything FPL exchanges."""
        return True

    def carries(self, phase: Phase) -> bool:
        """Everything FPL exchanges."""
        return True

    def init_clients(self, public: Public, people: Population) -> States:
        """p_u of everyone from N(0, 0.1^2)."""
        from murmura.algorithms.fpl import SPREAD

        P = np.empty((people.clients, self.algorithm.factors), self.algorithm.precision)
        initial_rows(people.secrets, SPREAD, P)
        return {"p": P}

    def run(
        self,
        public: Public,
        server: ServerState,
        states: States,
        people: Population,
        tally: Tally,
        stretch: Stretch,
    ) -> ServerState:
        """The rounds of a stretch: all in one compiled call where one client takes part and the server sums."""
        desk, (phase,) = self._at(public, people, stretch.workers), stretch.phases
        if phase.name == "prior":
            rows, server = self._prior(desk, server, tally, stretch)
        elif stretch.cohort == 1 and self.algorithm.optimiser == "sum" and stretch.channel.plain:
            rows, server = self._single(desk, server, states, tally, stretch)
        else:
            rows = 0
            for round in range(stretch.first, stretch.first + stretch.rounds):
                sent, server = self._cohort(desk, server, states, tally, stretch, round)
                rows += sent
        visits = stretch.rounds * (int(desk.answers.sum()) if phase.name == "prior" else stretch.cohort)
        receives = stretch.channel.downloads(self.algorithm.publishes(public))
        if stretch.carrier is not None:
            tally.count_vectors(public, receives, visits, stretch.carrier)
        else:
            tally.count(public, receives, phase.sends, visits, {phase.sends.tables[0].name: rows})
        return server

    def ready_clients(self, call: Call, states: States, people: Population, workers: int) -> States:
        """`refresh` passes of everyone over the final model."""
        P = states["p"].copy()
        if self.algorithm.refresh:
            desk = self._at(call.public, people, workers)
            cuts = _cuts(people.clients, workers)
            desk.side_by_side(
                lambda w: pass_block(
                    cuts[w], cuts[w + 1], self.algorithm.refresh, np.uint64(call.round),
                    np.uint64(Purpose.REFRESH), P, call.model["Q"], call.model["b"], desk.people, desk.rates,
                    desk.draws[w],
                )
            )  # fmt: skip
        return {"p": P}

    def score(self, model: Arrays, states: States, users: Ints) -> Values:
        """b_i + p_u . q_i of a block of users."""
        scores: Values = states["p"][users] @ model["Q"].T
        scores += model["b"]
        return scores

    def _single(
        self, desk: _Desk, server: ServerState, states: States, tally: Tally, stretch: Stretch
    ) -> tuple[int, ServerState]:
        a, Q, b = self.algorithm, server.model["Q"].copy(), server.model["b"].copy()
        step = Q.dtype.type(a.server_alpha or a.alpha)
        reach = (stretch.first, stretch.rounds, stretch.server_secret)
        counts = (tally.sent, tally.disclosed, tally.item_rows)
        if desk.triples == 1 and not a.warm:
            rows = stochastic_rounds(
                *reach, step, states["p"], Q, b, desk.people, desk.rates, desk.draws[0], *counts
            )
        else:
            out = desk.sums(1, a.factors + 1)
            rows = single_rounds(
                *reach, desk.triples, a.warm, a.version == "equations", step, states["p"], Q, b, desk.people,
                desk.rates, desk.draws[0], out.slot[0], out.touched[0], out.values[0], *counts,
            )  # fmt: skip
        return int(rows), ServerState({"Q": Q, "b": b}, server.private)

    def _cohort(
        self, desk: _Desk, server: ServerState, states: States, tally: Tally, stretch: Stretch, round: int
    ) -> tuple[int, ServerState]:
        a, m = self.algorithm, stretch.cohort
        model = stretch.channel.downloaded(server.model)
        everyone = len(desk.people.start) - 1
        cohort = np.arange(m, dtype=np.int32)
        if m < everyone:
            cohort = Rng(stretch.server_secret, round).stream(Purpose.SELECT).choose(everyone, m)
        if stretch.carrier is not None:
            total = self._posts(desk, model, states, tally, stretch.carrier, cohort, round)
            return 0, a.server_step("train", server, total)[0]
        blocks = max(1, min(BLOCKS, m // CLIENTS))
        bounds = np.array(_cuts(m, blocks))
        out, cuts = desk.sums(blocks, a.factors + 1), _cuts(blocks, desk.workers)
        Q, b, P = model["Q"], model["b"], states["p"]
        visit = Visit(round, desk.triples, a.warm, a.version == "equations")
        several = desk.triples != 1 or a.warm > 0

        def work(w: int) -> int:
            who = (cuts[w], cuts[w + 1], bounds, cohort)
            rest: Any = (P, Q, b, desk.people, desk.rates, desk.draws[w], out, tally.sent, tally.disclosed)
            return run_blocks(*who, visit, *rest) if several else run_single_triples(*who, round, *rest)

        rows = desk.side_by_side(work)
        merge_blocks(out, desk.touched, desk.total, desk.senders)
        index = np.flatnonzero(desk.touched).astype(np.int32)
        desk.touched[index] = False
        tally.item_rows[index] += desk.senders[index]
        values = desk.total[index]
        if a.optimiser == "per-contributor":
            values = np.column_stack([values, desk.senders[index].astype(values.dtype)])
        total = Total(Update({"items": SparseRows(index, values)}), m)
        return sum(rows), a.server_step("train", server, total)[0]

    def _posts(
        self,
        desk: _Desk,
        model: Arrays,
        states: States,
        tally: Tally,
        carrier: Carrier,
        cohort: Ints,
        round: int,
    ) -> Total:
        """The sum of a cohort whose updates go through a channel."""
        a, cuts, out = self.algorithm, _cuts(len(cohort), desk.workers), desk.sums(desk.workers, desk.width)
        visit = Visit(round, desk.triples, a.warm, a.version == "equations")
        spot, ones = carrier.spot("items", round), a.optimiser == "per-contributor"
        totals = np.zeros((desk.workers, carrier.words), np.int64)

        def work(w: int) -> int:
            run_posts(
                cuts[w], cuts[w + 1], cohort, visit, ones, spot, states["p"], model["Q"], model["b"],
                desk.people, desk.rates, desk.draws[w], out.slot[w], out.touched[w], out.values[w], totals[w],
                tally.sent, tally.disclosed,
            )  # fmt: skip
            return 0

        desk.side_by_side(work)
        tally.item_rows[carrier.block(round)] += len(cohort)
        return carrier.sum_up(totals.sum(axis=0), round)

    def _prior(
        self, desk: _Desk, server: ServerState, tally: Tally, stretch: Stretch
    ) -> tuple[int, ServerState]:
        a, round = self.algorithm, np.uint64(stretch.first)
        if stretch.carrier is not None:
            sums, spot = (
                np.zeros(stretch.carrier.words, np.int64),
                stretch.carrier.spot("counts", stretch.first),
            )
            post_shared(desk.people, desk.answers, round, spot, sums, tally.sent, tally.disclosed)
            tally.item_rows[stretch.carrier.block(stretch.first)] += int(sums[0])
            return 0, a.server_step("prior", server, stretch.carrier.sum_up(sums, stretch.first))[0]
        counts = np.zeros(len(server.model["b"]), np.int64)
        rows = count_shared(desk.people, desk.answers, round, tally.sent, tally.disclosed, counts)
        tally.item_rows += counts
        index = np.flatnonzero(counts).astype(np.int32)
        shared = SparseRows(index, counts[index, None].astype(a.precision))
        total = Total(Update({"counts": shared}), int(desk.answers.sum()))
        return int(rows), a.server_step("prior", server, total)[0]

    def _at(self, public: Public, people: Population, workers: int) -> _Desk:
        if self._desk is None or self._desk.population is not people or self._desk.workers != workers:
            self._desk = _Desk(self.algorithm, public, people, workers)
        return self._desk


class _Desk:
    """The room to work in for one federation."""

    def __init__(self, a: FPL, public: Public, people: Population, workers: int) -> None:
        self.population, self.workers, self.items = people, workers, public.items
        self.dtype, self.width = np.dtype(a.precision), a.factors + 1
        alpha, user, positive, negative = map(self.dtype.type, a.rates())
        self.rates = Rates(alpha, user, positive, negative, self.dtype.type(1))
        self.triples = -1 if a.triples == "own" else a.visit_triples(public, 0)
        most = int(np.diff(people.start).max(initial=1))
        longest = max(most * max(1, a.warm, a.refresh), self.triples)
        self.draws = [
            Draws(np.empty(longest, np.int64), np.empty(longest, np.int32), np.ones(longest, np.uint8),
                  np.empty(512, np.uint32))
            for _ in range(workers)
        ]  # fmt: skip
        self.people = _flat(public, people)
        self.answers = people.answering("statistics")
        self._sums: Sums | None = None

    def sums(self, blocks: int, width: int) -> Sums:
        """Empty sums for so many blocks."""
        if self._sums is None or len(self._sums.used) != blocks:
            shape = (blocks, self.items)
            touched, senders, last = (np.empty(shape, np.int32) for _ in range(3))
            values, used = np.empty((*shape, width), self.dtype), np.zeros(blocks, np.int64)
            self._sums = Sums(np.full(shape, -1, np.int32), touched, values, senders, last, used)
        return self._sums

    @cached_property
    def total(self) -> Values:
        """The sum over blocks."""
        return np.empty((self.items, self.width), self.dtype)

    @cached_property
    def touched(self) -> NDArray[np.bool_]:
        """Which rows of the total are in use."""
        return np.zeros(self.items, np.bool_)

    @cached_property
    def senders(self) -> NDArray[np.int64]:
        """How many clients sent each row of the total."""
        return np.empty(self.items, np.int64)

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """The workers."""
        return ThreadPoolExecutor(self.workers)

    def side_by_side(self, work: Any) -> list[int]:
        """work(0), work(1), ... one per worker."""
        return [work(0)] if self.workers == 1 else list(self.pool.map(work, range(self.workers)))


def _cuts(n: int, parts: int) -> list[int]:
    """n things in so many nearly equal parts: where each begins, and the end."""
    return [n * k // parts for k in range(parts + 1)]


def _flat(public: Public, people: Population) -> People:
    """The population as compiled loops take it, with a table of own items where it fits."""
    words = (public.items + 63) // 64
    fits = people.clients * words * 8 <= BITS
    own = np.zeros((people.clients if fits else 0, words if fits else 0), np.uint64)
    if fits:
        mark_own(people.start, people.item, own)
    everything = bool((people.share == 1.0).all())
    fractional = not everything and not np.isin(people.share, (0.0, 1.0)).all()
    return People(
        people.start, people.item, people.share, people.per_round, everything, bool(fractional), people.secrets,
        public.listed, own,
    )  # fmt: skip
