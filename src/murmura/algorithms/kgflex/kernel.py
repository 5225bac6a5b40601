"""The compiled paths of KGFlex and of its hybrid, on `algorithms.kgflex.loops`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from murmura.algorithms.fcf.kernel import FCFPaperKernel
from murmura.algorithms.kgflex.gain import MEASURES, offer_edges
from murmura.algorithms.kgflex.hybrid import KGFlexHybrid
from murmura.algorithms.kgflex.kgflex import KGFlex, known
from murmura.algorithms.kgflex.loop_arrays import (
    SPREAD,
    ClientRows,
    FeatureRows,
    FeatureScratch,
    FeatureVisitRules,
    GainRules,
)
from murmura.algorithms.kgflex.loops import choose_features, run_clients, score_users
from murmura.core.arrays import Floats, Ints
from murmura.core.contract import FederationInfo, Phase, RoundContext, Total
from murmura.core.kernel import CohortRound, Kernel
from murmura.core.message import MessageSpec
from murmura.core.population import Population, States, Tally
from murmura.core.update import SparseRows, Update
from murmura.kernels.client_blocks import ClientBlock, FlatPopulation
from murmura.kernels.cohort_kernel import CohortKernel, flat_population
from murmura.kernels.philox import initial_rows


class KGFlexKernel(CohortKernel[KGFlex]):
    """Runs the clients of a round over their own features."""

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """Everyone's features with their gains, and their first views of them."""
        a, most = self.algorithm, int(np.diff(people.start).max(initial=1))
        clients = ClientRows.empty(people.clients, a.capacity(info), a.factors, a.precision)
        rules = GainRules.of(
            MEASURES.index(a.measure), a.negatives, a.limits(), a.least,
            offer_edges(info, a.drawn == "popular"), most,
        )  # fmt: skip
        choose_features(flat_population(info, people), FeatureRows.of(known(info)), rules, clients)
        initial_rows(people.secrets, SPREAD, clients.P.reshape(people.clients, -1))
        return clients._asdict()

    def scratch(self, info: FederationInfo, people: FlatPopulation) -> FeatureScratch:
        """Room for the features of one client."""
        a, features = self.algorithm, FeatureRows.of(known(info))
        counted = a.optimiser == "per-contributor"
        return FeatureScratch.of(people, features, a.capacity(info), a.factors, a.precision, counted)

    def send(self, cohort: CohortRound, states: States, scratch: FeatureScratch, block: ClientBlock) -> None:
        """The rows of features that some clients send."""
        a, model = self.algorithm, cohort.model
        drop, clip = a.unshared == "drop", a.clip_update or 0.0
        rules = FeatureVisitRules(block.round, a.alpha, drop, a.power(), clip, a.reg)
        run_clients(rules, model["G"], model["b"].reshape(-1), client_rows(states), scratch, block)

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """They rank with what they have."""
        return {name: stack.copy() for name, stack in states.items()}

    def score(self, context: RoundContext, states: States, users: Ints) -> Floats:
        """Equation (6.12) of a block of users."""
        scores = np.zeros((len(users), context.info.items))
        G, b = context.model["G"], context.model["b"].reshape(-1)
        score_users(np.asarray(users), G, b, client_rows(states), FeatureRows.of(known(context.info)), scores)
        return scores


class HybridKernel(Kernel):
    """The hybrid's two parts over the same clients, one after the other."""

    weighs: ClassVar[bool] = True

    def __init__(self, algorithm: KGFlexHybrid) -> None:
        self.algorithm = algorithm
        self.features, self.vectors = KGFlexKernel(algorithm), FCFPaperKernel(algorithm.vectors())

    def covers(self, phase: Phase, channel: bool) -> bool:
        """Sums of floating-point numbers; a channel clips both tables as one, which the parts cannot."""
        return not channel

    def init_clients(self, info: FederationInfo, people: Population) -> States:
        """`client_init` of everyone."""
        return {**self.features.init_clients(info, people), **self.vectors.init_clients(info, people)}

    def cohort_sum(self, cohort: CohortRound, states: States, tally: Tally) -> tuple[Total, Mapping[str, int]]:
        """What the clients of a round send of either part."""
        tables: dict[str, SparseRows] = {}
        rows: dict[str, int] = {}
        parts: tuple[Kernel, Kernel] = (self.features, self.vectors)
        for part, table in zip(parts, cohort.phase.sends.tables):
            alone = replace(cohort, phase=replace(cohort.phase, sends=MessageSpec((table,))))
            total, sent = part.cohort_sum(alone, states, tally)
            tables |= total.update.tables
            rows |= sent
        return Total(Update(tables), len(cohort.clients)), rows

    def ready_clients(self, context: RoundContext, states: States, people: Population, workers: int) -> States:
        """p_u of everyone against the final vectors."""
        features = self.features.ready_clients(context, states, people, workers)
        return {**features, **self.vectors.ready_clients(context, states, people, workers)}

    def score(self, context: RoundContext, states: States, users: Ints) -> Floats:
        """The blend of a block of users."""
        parts = (part.score(context, states, users) for part in (self.features, self.vectors))
        return self.algorithm.blend(context.info, *parts)


def client_rows(states: States) -> ClientRows:
    """The stacked states as compiled loops take them."""
    return ClientRows(states["feature"], states["k"], states["P"], states["sent"])
