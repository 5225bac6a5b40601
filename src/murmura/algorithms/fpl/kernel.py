"""FPL's compiled path, on `kernels.fpl`; its plain twin is `algorithms.fpl`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmura.algorithms.fpl.fpl import FPL, SPREAD
from murmura.algorithms.fpl.loops import run_single_triples, stochastic_rounds
from murmura.core.contract import FederationInfo, Phase, RoundContext, ServerState
from murmura.core.kernel import CohortRound
from murmura.core.population import Population, States, Tally
from murmura.core.rng import Purpose, Words
from murmura.core.update import Arrays
from murmura.kernels.client_blocks import ClientBlock, Disclosed, FlatPopulation, block_of
from murmura.kernels.cohort_kernel import CohortKernel, disclosed_of
from murmura.kernels.fpl.arithmetic import FplModel, FplRates, VisitRules, Workspace
from murmura.kernels.fpl.cohorts import (
    pass_block,
    run_blocks,
    run_channel_round,
    send_shared_counts,
    single_rounds,
)
from murmura.kernels.fpl.triples import Draws
from murmura.kernels.philox import initial_rows

Scratch = tuple[FlatPopulation, VisitRules, Draws]  # of one worker: all but its draws are everybody's


class FPLKernel(CohortKernel[FPL]):
    """Runs many clients and many rounds of one federation; gradients are added triple by triple."""

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Everything FPL exchanges."""
        return True

    def sequential(self, phase: Phase) -> bool:
        """Training whose server adds gradients as they come."""
        a = self.algorithm
        return phase.name == "train" and a.optimiser == "sum" and not a.trust_region

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """p_u of everyone from N(0, 0.1^2)."""
        P = np.empty((people.clients, self.algorithm.factors), self.algorithm.precision)
        initial_rows(people.secrets, SPREAD, P)
        return {"p": P}

    def scratch(self, info: FederationInfo, people: FlatPopulation) -> Scratch:
        """What a visit does, and room for its draws."""
        a, rows = self.algorithm, np.diff(people.start)
        triples = a.mean_triples(info, rows, people.secrets)
        rules = VisitRules(triples, a.warm, a.version == "equations", a.optimiser == "per-contributor")
        most, rounded_up = int(rows.max(initial=1)), int(np.ceil(triples.max(initial=1.0)))
        return people, rules, Draws.of_size(max(most * max(1, a.warm, a.refresh), rounded_up))

    def send(self, cohort: CohortRound, states: States, scratch: Scratch, block: ClientBlock) -> None:
        """Counts before training; gradients through a channel."""
        if cohort.phase.name == "prior":
            return send_shared_counts(block)
        work = self._work(states["p"], cohort.model, scratch, block.tally, cohort.round)
        assert block.vector_slice is not None
        run_channel_round(cohort.round, block.vector_slice, work, block)

    def run_blocks(
        self, cohort: CohortRound, states: States, scratch: Scratch, whole: ClientBlock, first: int, last: int
    ) -> None:
        """Gradients without a channel are added to the sums of the blocks as they come."""
        if cohort.phase.name == "prior":
            return super().run_blocks(cohort, states, scratch, whole, first, last)
        work = self._work(states["p"], cohort.model, scratch, whole.tally, cohort.round)
        run = run_single_triples if _one_triple(work.rules) else run_blocks
        run(first, last, cohort.bounds, whole.clients, whole.weights, cohort.round, work, whole.sums)

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
        a, space = self.algorithm, self.workspace(info, people, 1)
        Q, b = server.model["Q"].copy(), server.model["b"].copy()
        step = Q.dtype.type(a.server_alpha or a.alpha)
        reach = (rounds.start, len(rounds), server_secret, step)
        work = self._work(states["p"], {"Q": Q, "b": b}, space.scratch[0], disclosed_of(tally), 0)
        if _one_triple(work.rules):
            rows = stochastic_rounds(*reach, work)
        else:
            sums = space.sums(1, a.phases(info)[-1].sends.tables[0])
            rows = single_rounds(*reach, work, block_of(sums, 0))
        return ServerState({"Q": Q, "b": b}, a.counted(server.private, len(rounds))), int(rows)

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """`refresh` passes of everyone over the final model."""
        P, passes = states["p"].copy(), self.algorithm.refresh
        if not passes:
            return {"p": P}
        space, nothing = self.workspace(context.info, people, workers), Tally.empty(people, context.info.items)
        when = np.uint64(context.round), np.uint64(Purpose.REFRESH)

        def work(worker: int, first: int, last: int) -> None:
            own = self._work(P, context.model, space.scratch[worker], disclosed_of(nothing), 0)
            pass_block(first, last, passes, *when, own)

        self.in_parallel(work, people.clients, workers)
        return {"p": P}

    def score(self, context: RoundContext, states: States, users: NDArray[np.int32]) -> NDArray[Any]:
        """b_i + p_u . q_i of a block of users."""
        scores: NDArray[Any] = states["p"][users] @ context.model["Q"].T
        scores += context.model["b"]
        return scores

    def _work(
        self, P: NDArray[Any], model: Arrays, scratch: Scratch, tally: Disclosed, round: int
    ) -> Workspace:
        """What one worker reads and writes in a round; many rounds at once begin with round 0."""
        a, number = self.algorithm, P.dtype.type
        alpha, user, positive, negative = map(number, a.rates())
        rates = FplRates(
            number(a.rate_at(a.alpha, round)), user, positive, negative, number(1), alpha, a.rate_decay
        )
        people, rules, draws = scratch
        return Workspace(FplModel(P, model["Q"], model["b"], rates), people, rules, draws, tally)


def _one_triple(rules: VisitRules) -> bool:
    """Whether a visit is one triple and nothing else."""
    return bool((rules.triples == 1).all()) and not rules.warm
