"""KGFlex's compiled path, on `algorithms.kgflex.loops`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from murmura.algorithms.fpl.kernel import disclosed_of, flat_population
from murmura.algorithms.kgflex.gain import MEASURES, offer_edges
from murmura.algorithms.kgflex.loop_arrays import (
    SPREAD,
    ClientRows,
    FeatureRows,
    FeatureVisitRules,
    GainRules,
    Workplace,
)
from murmura.algorithms.kgflex.loops import (
    choose_features,
    initial_views,
    run_block,
    run_channel_block,
    score_users,
)
from murmura.algorithms.kgflex.paper import known
from murmura.core.arrays import Floats, Ints
from murmura.core.contract import FederationInfo, Phase, RoundContext, Total
from murmura.core.kernel import CohortRound, CompiledChannel, parts_of
from murmura.core.population import Population, States, Tally
from murmura.core.update import SparseRows, Update

if TYPE_CHECKING:
    from murmura.algorithms.kgflex.kgflex import KGFlex


class KGFlexKernel:
    """Runs the clients of a round over their own features; keeps its room between calls."""

    weighs: ClassVar[bool] = True
    in_blocks: ClassVar[bool] = True

    def __init__(self, algorithm: KGFlex) -> None:
        self.algorithm = algorithm
        self._room: _Room | None = None

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Everything KGFlex exchanges, through a channel too."""
        return True

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """Everyone's features with their gains, and their first views of them."""
        a, room = self.algorithm, self.algorithm.room(info)
        clients = ClientRows.empty(people.clients, room, a.factors, a.precision)
        most = int(np.diff(people.start).max(initial=1))
        rules = GainRules.of(
            MEASURES.index(a.measure), a.negatives, a.limits(), a.least_gain(),
            offer_edges(info, a.drawn == "popular"), most,
        )  # fmt: skip
        flat = flat_population(info, people)
        choose_features(0, people.clients, flat, FeatureRows.of(known(info)), rules, clients)
        initial_views(people.secrets, SPREAD, clients.P)
        return clients._asdict()

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """The rows of features that the clients of a round send, added up."""
        room = self._at(cohort)
        if cohort.chain is not None:
            return self._through(room, cohort, cohort.chain, states, tally), {}
        a, clients, model = self.algorithm, cohort.clients, cohort.model
        bounds, blocks = cohort.bounds, len(cohort.bounds) - 1
        cuts = parts_of(blocks, cohort.workers)
        totals = np.zeros((blocks, room.features, room.width), a.precision)
        senders, rows = np.zeros((blocks, room.features), np.int64), np.zeros(blocks, np.int64)
        rules, kept, b = self._rules(cohort.round), client_rows(states), model["b"].reshape(-1)
        weights = cohort.client_weights(a.precision)

        def work(w: int) -> None:
            for block in range(cuts[w], cuts[w + 1]):
                part = slice(bounds[block], bounds[block + 1])
                rows[block] = run_block(
                    clients[part], weights[part], rules, model["G"], b, kept, room.places[w],
                    totals[block], senders[block], disclosed_of(tally),
                )  # fmt: skip

        side_by_side(work, cohort.workers)
        sent = senders.sum(axis=0)
        index = np.flatnonzero(sent).astype(np.int32)
        values = totals[:, index].sum(axis=0, dtype=a.precision)
        total = Total(Update({"features": SparseRows(index, values)}), len(clients))
        return total, {"features": int(rows.sum())}

    def _through(
        self, room: _Room, cohort: CohortRound, chain: CompiledChannel, states: States, tally: Tally
    ) -> Total:
        """The sum of a cohort whose updates go through a channel."""
        cuts, model = parts_of(len(cohort.clients), cohort.workers), cohort.model
        weights, rules = cohort.client_weights(self.algorithm.precision), self._rules(cohort.round)
        totals = np.zeros((cohort.workers, chain.words), np.int64)
        where, kept = chain.vector_slice("features", cohort.round), client_rows(states)
        b = model["b"].reshape(-1)

        def work(w: int) -> None:
            part = slice(cuts[w], cuts[w + 1])
            run_channel_block(
                cohort.clients[part], weights[part], rules, where, model["G"], b, kept, room.places[w],
                totals[w], disclosed_of(tally),
            )  # fmt: skip

        side_by_side(work, cohort.workers)
        return chain.sum_up(totals.sum(axis=0), cohort.round)

    def _rules(self, round: int) -> FeatureVisitRules:
        a = self.algorithm
        return FeatureVisitRules(
            np.uint64(round), a.alpha, a.unshared == "drop", a.power(), a.clip_update or 0.0
        )

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """They rank with what they have."""
        return {name: stack.copy() for name, stack in states.items()}

    def score(self, context: RoundContext, states: States, users: Ints) -> Floats:
        """Equation (6.12) of a block of users."""
        scores = np.zeros((len(users), context.info.items))
        G, b = context.model["G"], context.model["b"].reshape(-1)
        score_users(np.asarray(users), G, b, client_rows(states), FeatureRows.of(known(context.info)), scores)
        return scores

    def _at(self, cohort: CohortRound) -> _Room:
        if self._room is None or self._room.population is not cohort.people:
            self._room = _Room(self.algorithm, cohort.info, cohort.people, cohort.workers)
        return self._room


class _Room:
    """The room to work in for one federation."""

    def __init__(self, a: KGFlex, info: FederationInfo, people: Population, workers: int) -> None:
        self.population, self.features = people, len(known(info))
        flat, rows = flat_population(info, people), FeatureRows.of(known(info))
        counted, size = a.optimiser == "per-contributor", a.room(info)
        self.width = a.factors + 1 + counted
        self.places = [Workplace.of(flat, rows, size, a.factors, a.precision, counted) for _ in range(workers)]


def side_by_side(work: Callable[[int], None], workers: int) -> None:
    """work(0), work(1), ... one per worker."""
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))


def client_rows(states: States) -> ClientRows:
    """The stacked states as compiled loops take them."""
    return ClientRows(states["feature"], states["k"], states["P"], states["sent"])
